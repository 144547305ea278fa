/** The day of a moment in a time zone, and the day that many days later. */
import { DAY_MS } from '../../src/shared/time.ts';

export const dayOf = (ms: number, timezone: string): string =>
  // The Swedish date format equals ISO's.
  new Intl.DateTimeFormat('sv-SE', { timeZone: timezone, dateStyle: 'short' }).format(ms);
export const daysAfter = (day: string, days: number): string =>
  new Date(Date.parse(day) + days * DAY_MS).toISOString().slice(0, 10);
