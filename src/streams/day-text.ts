/** Days as text. */

/** YYYYMMDD → `YYYY-MM-DD`; undefined when there is no such day. */
export function toDate(digits: string): string | undefined {
  const [year, month, day] = [digits.slice(0, 4), digits.slice(4, 6), digits.slice(6, 8)];
  const iso = `${year}-${month}-${day}`;
  const time = Date.parse(`${iso}T00:00:00Z`);
  return Number.isNaN(time) || year === '0000' || new Date(time).toISOString().slice(0, 10) !== iso
    ? undefined
    : iso;
}

/** Days of records repeat; what is no day is not kept. */
const MOST_KNOWN_DAYS = 5000;
const knownDays = new Map<number, string>();

export function toKnownDay(value: unknown): string | undefined {
  if (typeof value !== 'number') return undefined;
  const known = knownDays.get(value);
  if (known !== undefined) return known;
  const day = Number.isInteger(value) && value >= 1e7 && value < 1e8 ? toDate(String(value)) : undefined;
  if (day !== undefined && knownDays.size < MOST_KNOWN_DAYS) knownDays.set(value, day);
  return day;
}
