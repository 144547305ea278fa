/** Formats days and times as text for the pages. Pure. */
import { DAY_MS } from '../shared/time.ts';

/** By time zone. Formatters are kept, because creating one takes longer than formatting a hundred texts. */
const clocks = new Map<string, Intl.DateTimeFormat>();

/** For example `2026-03-06 14:30:05`, the form of times in Swedish texts. */
function localTime(ms: number, timeZone: string): string {
  const known = clocks.get(timeZone);
  const clock =
    known ?? new Intl.DateTimeFormat('sv-SE', { timeZone, dateStyle: 'short', timeStyle: 'medium' });
  clocks.set(timeZone, clock);
  return clock.format(ms);
}

/** For example `Fri 2026-03-06 14:30:05`, in the time zone of the schedules. */
export function clockTime(ms: number, timezone: string): string {
  const time = localTime(ms, timezone);
  return `${weekdayOf(time)} ${time}`;
}

const WEEKDAYS = ['Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat', 'Sun'] as const;
const MONTHS = 'Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec'.split(' ');

/** Days since 1970. In UTC, because a day already belongs to the account's time zone. */
export const dayNumber = (day: string): number => Date.parse(day.slice(0, 10)) / DAY_MS;

/** Adds days to a day. */
export function dayAfter(day: string, days: number): string {
  return new Date((dayNumber(day) + days) * DAY_MS).toISOString().slice(0, 10);
}

/** The first day of 1970 was a Thursday. */
const weekdayOf = (day: string): string => WEEKDAYS[(dayNumber(day) + 3) % 7] ?? '';

/** For example `1 Mar 2026`. A year beyond 9999 has more than four digits. */
export function formatDay(day: string | null): string {
  if (day === null) return '–';
  const [year = ''] = day.split('-');
  return `${formatShortDay(day)} ${year}`;
}

/** For example `1 Mar`. */
function formatShortDay(day: string): string {
  const [, month = '', date = ''] = day.split('-');
  return `${Number.parseInt(date, 10)} ${MONTHS[Number(month) - 1] ?? ''}`;
}

/** For example `Mon 2 Mar`. */
export function formatWeekday(day: string): string {
  return `${weekdayOf(day)} ${formatShortDay(day)}`;
}

/** For example `1 Mar 2026, 14:30`, in the given time zone. */
export function formatMoment(ms: number, timezone: string): string {
  const time = localTime(ms, timezone);
  return `${formatDay(time)}, ${time.slice(11, 16)}`;
}

/** Whole percents with a non-breaking space; 0 and 100 only when exact. */
export function formatShare(count: number, whole: number): string {
  if (whole === 0) return '–';
  const percent = Math.round((100 * count) / whole);
  const shown = percent === 100 && count < whole ? 99 : percent === 0 && count > 0 ? 1 : percent;
  return `${shown}\u00a0%`;
}

/** Truncates a text that is shown in full in a table next to it. */
export function shorten(text: string, length: number): string {
  const characters = Array.from(text);
  return characters.length <= length ? text : `${characters.slice(0, length - 1).join('')}…`;
}
