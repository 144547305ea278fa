/** Records and plots the memory of the workers in a long run. */
import { readFile } from 'node:fs/promises';
import { drawSvg } from '../../bench/support/svg.ts';

export interface MemorySample {
  readonly replica: number;
  /** Start of the process; each restart has a new one. */
  readonly bornMs: number;
  readonly ageMs: number;
  /** Time since the start of the run. */
  readonly minutes: number;
  readonly megabytes: number;
}

/** Resident memory of a process; undefined if the system has no /proc or the process has ended. */
export async function residentBytes(pid: number): Promise<number | undefined> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '');
  const kilobytes = /^VmRSS:\s+(\d+) kB/m.exec(status)?.[1];
  return kilobytes === undefined ? undefined : Number(kilobytes) * 1024;
}

export async function renderMemory(samples: readonly MemorySample[]): Promise<string> {
  return await drawSvg((plot) => ({
    width: 860,
    height: 320,
    x: { label: 'minutes' },
    y: { label: 'resident memory, MB', domain: [0, 260], grid: true },
    marks: [
      plot.ruleY([256], { stroke: '#b5372f', strokeDasharray: '4 3' }),
      plot.lineY(samples, {
        x: 'minutes',
        y: 'megabytes',
        z: ({ replica, bornMs }: MemorySample) => `${replica} ${bornMs}`,
        stroke: ({ replica }: MemorySample) => (replica === 0 ? '#4c78a8' : '#e0882e'),
      }),
    ],
  }));
}
