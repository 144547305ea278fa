/** The day of a moment (ms, as text), and conversions between days and numbers. */
const DAY_MS = 86_400_000;
const formats = new Map<string, Intl.DateTimeFormat>();

export function dayOf(ms: string | null, timezone: string): string | null {
  if (ms === null) return null;
  // The Swedish date format equals ISO's.
  const format =
    formats.get(timezone) ?? new Intl.DateTimeFormat('sv-SE', { timeZone: timezone, dateStyle: 'short' });
  formats.set(timezone, format);
  return format.format(Number(ms));
}
export const dayNumber = (day: string): number => Date.parse(`${day}T00:00:00Z`) / DAY_MS;
export const toDay = (number: number): string => new Date(number * DAY_MS).toISOString().slice(0, 10);
