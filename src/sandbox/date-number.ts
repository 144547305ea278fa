import { DAY_MS } from '../shared/time.ts';

/** Formats the UTC day of a ms timestamp as YYYYMMDD. The specification names no other zone. */
export function toDateNumber(ms: number): number {
  const date = new Date(ms);
  return date.getUTCFullYear() * 10_000 + (date.getUTCMonth() + 1) * 100 + date.getUTCDate();
}

export function dateNumberAfter(ms: number, days: number): number {
  return toDateNumber(ms + days * DAY_MS);
}
