/** Numbers and times for human readers. */
import { DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS } from './time.ts';

/** `2,000`. Intl takes 30 ms of each command at its first use. */
export const formatCount = (count: number): string => String(count).replace(/\B(?=(?:\d{3})+$)/g, ',');

/** `1 record`, `2,000 records` */
export const formatNumber = (count: number, noun: string): string =>
  `${formatCount(count)} ${noun}${count === 1 ? '' : 's'}`;

/** The larger unit and the next one, unless that is 0: `1 min 5 s`, `15 min`. Rounded once, so that there is never a `60 s`. */
function inUnits(ms: number, [large, largeMs]: Unit, [small, smallMs]: Unit): string {
  const total = Math.round(ms / smallMs);
  const perLarge = largeMs / smallMs;
  const rest = total % perLarge;
  return `${Math.floor(total / perLarge)} ${large}${rest === 0 ? '' : ` ${rest} ${small}`}`;
}

type Unit = readonly [name: string, ms: number];
const SECONDS: Unit = ['s', SECOND_MS];
const MINUTES: Unit = ['min', MINUTE_MS];
const HOURS: Unit = ['h', HOUR_MS];
const DAYS: Unit = ['d', DAY_MS];

export function formatDuration(ms: number): string {
  if (ms < SECOND_MS - 0.5) return `${Math.round(ms)} ms`;
  if (ms < 9.95 * SECOND_MS) return `${(ms / SECOND_MS).toFixed(1)} s`;
  if (ms < MINUTE_MS - SECOND_MS / 2) return `${Math.round(ms / SECOND_MS)} s`;
  if (ms < HOUR_MS - SECOND_MS / 2) return inUnits(ms, MINUTES, SECONDS);
  if (ms < DAY_MS - MINUTE_MS / 2) return inUnits(ms, HOURS, MINUTES);
  return inUnits(ms, DAYS, HOURS);
}

/** `2026-03-01 12:30:05Z`; a dash for null. */
export function formatTime(instant: string | number | null): string {
  if (instant === null) return '–';
  return `${new Date(instant).toISOString().slice(0, 19).replace('T', ' ')}Z`;
}

export function formatAge(instant: string | number | null, nowMs: number): string {
  if (instant === null) return 'never';
  const ageMs = nowMs - new Date(instant).getTime();
  return ageMs < SECOND_MS ? 'just now' : `${formatDuration(ageMs)} ago`;
}

/** Seconds after minutes are omitted, because they do not matter on a dashboard: `14 min`, `3 h 20 min`, `2 d`. */
export const roughly = (text: string): string => text.replace(/ min \d+ s/, ' min');

/** `a, b, c`, `a, b and 3 more` */
export function nameSome(names: readonly string[], most: number): string {
  const rest = names.length - most;
  return `${names.slice(0, most).join(', ')}${rest > 0 ? ` and ${formatCount(rest)} more` : ''}`;
}

/** Capitalizes the first letter of a sentence. */
export const capital = (text: string): string => `${text.charAt(0).toUpperCase()}${text.slice(1)}`;
