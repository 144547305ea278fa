/** Days and names as a reader of the report sees them. Pure. */

const DAY_PARTS = { day: 'numeric', month: 'short', year: 'numeric' } as const;

/** en-US for its months of three letters, put in the order that nobody misreads. */
function dayOf(at: Date | number, timeZone: string): Readonly<Record<'day' | 'month' | 'year', string>> {
  const parts = new Intl.DateTimeFormat('en-US', { ...DAY_PARTS, timeZone }).formatToParts(at);
  const part = (type: string) => parts.find((one) => one.type === type)?.value ?? '';
  return { day: part('day'), month: part('month'), year: part('year') };
}

function toText({ day, month, year }: ReturnType<typeof dayOf>): string {
  return `${day} ${month} ${year}`;
}

/** A day has no time zone any more: it is that of the account already. */
export function toDate(day: string): Date {
  return new Date(`${day.slice(0, 10)}T00:00:00Z`);
}

/** `1 Mar 2026` */
export function formatDay(day: string | null): string {
  return day === null ? '–' : toText(dayOf(toDate(day), 'UTC'));
}

/** `1 Mar` */
export function formatShortDay(date: Date): string {
  const { day, month } = dayOf(date, 'UTC');
  return `${day} ${month}`;
}

/** `Mar 2026` */
export function formatMonth(day: string): string {
  const { month, year } = dayOf(toDate(day), 'UTC');
  return `${month} ${year}`;
}

/** `1 Mar 2026, 14:30` in this time zone. */
export function formatMoment(ms: number, timezone: string): string {
  const clock = new Intl.DateTimeFormat('en-GB', { timeZone: timezone, hour: '2-digit', minute: '2-digit' });
  return `${toText(dayOf(ms, timezone))}, ${clock.format(ms)}`;
}

/** A moment as PostgreSQL writes it, as the day on which it was in this time zone. */
export function formatDayOf(instant: string | null, timezone: string): string {
  return instant === null ? '–' : toText(dayOf(new Date(instant), timezone));
}

/** Who it is: by name where it is known, else by id. */
export function personOf(name: string | null, id: string | null): string {
  return name ?? id ?? 'nobody';
}

/** Half days of a median are shown, `.0` is not. */
export function formatDays(count: number | null): string {
  if (count === null) return '–';
  return String(Math.round(count * 10) / 10);
}

/** Whole percents; never 0 or 100 where it is not quite so. */
export function formatShare(part: number, whole: number): string {
  if (whole === 0) return '–';
  const percent = Math.round((100 * part) / whole);
  if (percent === 100 && part < whole) return '99 %';
  return percent === 0 && part > 0 ? '1 %' : `${percent} %`;
}

/** Cut so that it fits; the whole text stands in a table beside. */
export function shorten(text: string, length: number): string {
  const characters = Array.from(text);
  return characters.length <= length ? text : `${characters.slice(0, length - 1).join('')}…`;
}
