/** Processor time of other processes, from `/proc`; null where there is none. */
import { readdir, readFile } from 'node:fs/promises';

/** The units of processor time in Linux, per second. */
const TICKS = 100;

interface Stat {
  readonly parent: number;
  /** Processor time of the process itself, s. */
  readonly own: number;
  /** Processor time of its children that have ended and were waited for, s. */
  readonly ended: number;
}

async function readStat(pid: number): Promise<Stat | null> {
  const text = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => null);
  if (text === null) return null;
  // The name of the program, in brackets, may contain any character.
  const fields = text
    .slice(text.lastIndexOf(')') + 2)
    .split(' ')
    .map(Number);
  const at = (number: number): number => fields[number - 3] ?? 0;
  return { parent: at(4), own: (at(14) + at(15)) / TICKS, ended: (at(16) + at(17)) / TICKS };
}

/** Processor time of a process and all its children, ended or not, s. */
export async function processorSeconds(pid: number): Promise<number | null> {
  const root = await readStat(pid);
  if (root === null) return null;
  let seconds = root.own + root.ended;
  for (const name of await readdir('/proc')) {
    const stat = /^\d+$/.test(name) ? await readStat(Number(name)) : null;
    if (stat?.parent === pid) seconds += stat.own + stat.ended;
  }
  return seconds;
}
