/** Records and plots the memory of the workers in a long run. */
import { readFile } from 'node:fs/promises';
import { drawing, element, round, textAt } from '../../src/pages/chart-kit.ts';

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

const [WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM] = [860, 320, 48, 840, 30, 290];
const MOST_MB = 260;
const LIMIT_MB = 256;

const line = (y: number, attributes: Record<string, string | number>) =>
  element('line', { x1: LEFT, x2: RIGHT, y1: y, y2: y, ...attributes });

/** A file of its own, so it names its colours. */
export function renderMemory(samples: readonly MemorySample[]): string {
  const lastMinute = Math.max(1, ...samples.map(({ minutes }) => minutes));
  const xOf = (minutes: number) => LEFT + (minutes / lastMinute) * (RIGHT - LEFT);
  const yOf = (megabytes: number) => BOTTOM - (megabytes / MOST_MB) * (BOTTOM - TOP);
  const starts = [...new Set(samples.map(({ replica, bornMs }) => `${replica} ${bornMs}`))];
  const lines = starts.map((start) => {
    const own = samples.filter(({ replica, bornMs }) => `${replica} ${bornMs}` === start);
    const points = own.map((one) => `${round(xOf(one.minutes))},${round(yOf(one.megabytes))}`);
    const stroke = own[0]?.replica === 0 ? '#4c78a8' : '#e0882e';
    return element('path', { d: `M${points.join('L')}`, fill: 'none', stroke, 'stroke-width': 1.5 });
  });
  const steps = [0, 50, 100, 150, 200, 250].map((megabytes) => [
    line(yOf(megabytes), { stroke: '#ddd' }),
    textAt(LEFT - 9, yOf(megabytes), String(megabytes), { 'text-anchor': 'end' }),
  ]);
  const every = Math.max(1, Math.round(lastMinute / 8));
  const minutes = Array.from({ length: Math.floor(lastMinute / every) + 1 }, (_, at) => at * every);
  return `${
    drawing(
      'Resident memory of the workers in MB, by minute',
      [WIDTH, HEIGHT],
      { xmlns: 'http://www.w3.org/2000/svg', 'font-family': 'system-ui, sans-serif', 'font-size': '13px' },
      element('rect', { width: WIDTH, height: HEIGHT, fill: 'white' }),
      steps,
      textAt(LEFT - 40, TOP - 16, 'resident memory, MB'),
      minutes.map((minute) => textAt(xOf(minute), BOTTOM + 14, String(minute), { 'text-anchor': 'middle' })),
      textAt(RIGHT, BOTTOM + 26, 'minutes', { 'text-anchor': 'end' }),
      line(yOf(LIMIT_MB), { stroke: '#b5372f', 'stroke-dasharray': '4 3' }),
      lines,
    ).text
  }\n`;
}
