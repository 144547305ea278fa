/** Numbers and times as people read them. */
import { DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS } from '../shared/time.ts';

const counts = new Intl.NumberFormat('en-US');

export function formatCount(count: number): string {
  return counts.format(count);
}

/** `1 record`, `2,000 records` */
export function formatNumber(count: number, noun: string): string {
  return `${formatCount(count)} ${noun}${count === 1 ? '' : 's'}`;
}

export function formatDuration(ms: number): string {
  if (ms < SECOND_MS) return `${Math.round(ms)} ms`;
  if (ms < 10 * SECOND_MS) return `${(ms / SECOND_MS).toFixed(1)} s`;
  if (ms < MINUTE_MS) return `${Math.round(ms / SECOND_MS)} s`;
  if (ms < HOUR_MS) return `${Math.floor(ms / MINUTE_MS)} min ${Math.round((ms % MINUTE_MS) / SECOND_MS)} s`;
  if (ms < DAY_MS) return `${Math.floor(ms / HOUR_MS)} h ${Math.round((ms % HOUR_MS) / MINUTE_MS)} min`;
  return `${Math.floor(ms / DAY_MS)} d ${Math.round((ms % DAY_MS) / HOUR_MS)} h`;
}

/** `2026-03-01 12:30:05Z`; a dash for what never was. */
export function formatTime(instant: string | null): string {
  if (instant === null) return '–';
  return `${new Date(instant).toISOString().slice(0, 19).replace('T', ' ')}Z`;
}

export function formatAge(instant: string | null, nowMs: number): string {
  if (instant === null) return 'never';
  const ageMs = nowMs - Date.parse(instant);
  return ageMs < SECOND_MS ? 'just now' : `${formatDuration(ageMs)} ago`;
}
