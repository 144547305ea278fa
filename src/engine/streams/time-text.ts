/** Days and times as text. A first load creates millions of them. */
import { DAY_MS, SECOND_MS } from '../../shared/time.ts';

/** The first ms of the four-digit years, and the first ms after them. */
const FIRST_PLAIN_MS = Date.parse('0000-01-01T00:00:00Z');
const END_OF_PLAIN_MS = Date.parse('+010000-01-01T00:00:00Z');

/** Records of one response have similar times, so the text of each day is created once. */
const dayTexts = new Map<number, string>();
const MOST_DAY_TEXTS = 5000;

function toDayText(day: number): string {
  let text = dayTexts.get(day);
  if (text === undefined) {
    text = new Date(day * DAY_MS).toISOString().slice(0, 10);
    if (dayTexts.size >= MOST_DAY_TEXTS) dayTexts.clear();
    dayTexts.set(day, text);
  }
  return text;
}

const pad = (number: number, digits: number): string => String(number).padStart(digits, '0');
const MINUTE_TEXTS = Array.from(
  { length: 24 * 60 },
  (_, minute) => `T${pad(Math.floor(minute / 60), 2)}:${pad(minute % 60, 2)}:`,
);
const SECOND_TEXTS = Array.from({ length: 60 }, (_, second) => `${pad(second, 2)}.`);
const MILLISECONDS = Array.from({ length: 1000 }, (_, ms) => pad(ms, 3));
const MILLISECONDS_Z = MILLISECONDS.map((text) => `${text}Z`);

/** ms since 1970 (specification, "Resources and their fields") → ISO text, microseconds kept, years above 9999 included. */
export function toInstant(ms: number): string {
  const whole = Math.floor(ms);
  // Rounded, because 0.7 ms of such a double are 0.69995.
  const micros = Math.round((ms - whole) * 1000);
  if (micros === 1000) return toInstant(whole + 1);
  if (whole < FIRST_PLAIN_MS || whole >= END_OF_PLAIN_MS) {
    const iso = new Date(whole).toISOString().replace(/^\+0*/, '');
    return micros === 0 ? iso : `${iso.slice(0, -1)}${String(micros).padStart(3, '0')}Z`;
  }
  const day = Math.floor(whole / DAY_MS);
  const inDay = whole - day * DAY_MS;
  const second = Math.floor(inDay / SECOND_MS);
  const fraction = inDay % SECOND_MS;
  // Few pieces, because each of them needs memory.
  const text =
    toDayText(day) + (MINUTE_TEXTS[Math.floor(second / 60)] ?? '') + (SECOND_TEXTS[second % 60] ?? '');
  if (micros === 0) return text + (MILLISECONDS_Z[fraction] ?? '');
  return text + (MILLISECONDS[fraction] ?? '') + (MILLISECONDS_Z[micros] ?? '');
}

/**
 * ms since 1970 of a text of `toInstant`. Years above 9999 have no sign there, for PostgreSQL; Date.parse requires one, and
 * six digits.
 */
export function msOfInstant(text: string): number {
  const digits = text.indexOf('-');
  return Date.parse(digits <= 4 ? text : `+${text.slice(0, digits).padStart(6, '0')}${text.slice(digits)}`);
}

/** Compares two texts of `toInstant`. Texts of equal length sort like their times; others are parsed. */
const compareInstants = (one: string, other: string): number =>
  one.length === other.length
    ? Number(one > other) - Number(one < other)
    : msOfInstant(one) - msOfInstant(other);

export const isEarlier = (one: string, other: string): boolean => compareInstants(one, other) < 0;

/** Sorts by the times of the items if each of them has one; otherwise and in ties by `position`. */
export function oldestFirst<Item>(
  items: readonly Item[],
  timeOf: (item: Item) => string | null,
  position: (item: Item) => number,
): Item[] {
  const isDated = items.every((item) => timeOf(item) !== null);
  return items.toSorted(
    (a, b) => (isDated ? compareInstants(timeOf(a) ?? '', timeOf(b) ?? '') : 0) || position(a) - position(b),
  );
}

/** YYYYMMDD → `YYYY-MM-DD`; undefined when there is no such day. */
export function toDate(digits: string): string | undefined {
  const [year, month, day] = [digits.slice(0, 4), digits.slice(4, 6), digits.slice(6, 8)];
  const iso = `${year}-${month}-${day}`;
  const time = Date.parse(`${iso}T00:00:00Z`);
  return Number.isNaN(time) || year === '0000' || new Date(time).toISOString().slice(0, 10) !== iso
    ? undefined
    : iso;
}

/** Number of cached days, because days of records repeat; text that is no day is not cached. */
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
