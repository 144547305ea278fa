/**
 * Converts single values of the service as the specification requires. Written independently of the worker, so that both
 * cannot share a mistake.
 */
export type Cell = string | boolean | null;
export type WireObject = Record<string, unknown>;

const REPLACEMENT = '\uFFFD';

/** A number up to 2^53. */
const numberText = (value: unknown): string | null =>
  typeof value === 'number' && Math.abs(value) < 2 ** 53 ? String(value) : null;

export function isObject(value: unknown): value is WireObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Text that PostgreSQL can store. */
export function storable(value: unknown): unknown {
  if (typeof value === 'string') {
    let text = '';
    // Iteration is by code point, so a surrogate found here is unpaired.
    for (const point of value) text += /^[\0\uD800-\uDFFF]$/.test(point) ? REPLACEMENT : point;
    return text;
  }
  if (Array.isArray(value)) return value.map(storable);
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, one]) => [String(storable(name)), storable(one)]),
  );
}

export function text(value: unknown): string | null {
  if (typeof value === 'string') return value;
  return typeof value === 'boolean' ? String(value) : numberText(value);
}

/** "A number where a string is specified is taken as its decimal text." */
export function id(value: unknown): string | null {
  if (typeof value === 'string') return value;
  const whole = numberText(value);
  return whole !== null && /^-?\d+$/.test(whole) ? whole : null;
}

function numeral(value: unknown): number | null {
  if (typeof value === 'number') return value;
  return typeof value === 'string' && /^-?\d+(\.\d+)?$/.test(value) ? Number(value) : null;
}

/** ms since 1970 of the years 1 to 9999 in any time zone; 0 is no time. */
export function ms(value: unknown): string | null {
  const number = numeral(value);
  if (number === null || number === 0 || number < -62_135_553_600_000 || number > 253_402_250_399_999)
    return null;
  return String(Math.floor(number));
}

export function integer(value: unknown): string | null {
  const number = numeral(value);
  return number !== null && Number.isInteger(number) ? numberText(number) : null;
}

export const decimal = (value: unknown): string | null => numberText(numeral(value));

export function yes(value: unknown): boolean | null {
  if (typeof value === 'boolean') return value;
  return value === 'true' ? true : value === 'false' ? false : null;
}

const DAYS_OF_MONTH = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

/** YYYYMMDD, if the day exists. */
export function day(value: unknown): string | null {
  const digits = text(value);
  if (digits === null || !/^\d{8}$/.test(digits)) return null;
  const [year, month, date] = [digits.slice(0, 4), digits.slice(4, 6), digits.slice(6)].map(Number) as [
    number,
    number,
    number,
  ];
  const isLeap = (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0;
  const days = month === 2 && isLeap ? 29 : (DAYS_OF_MONTH[month - 1] ?? 0);
  return year > 0 && date >= 1 && date <= days ? digits : null;
}

/** JSON with sorted keys. */
export function json(value: unknown): string | null {
  return value === undefined || value === null ? null : sorted(value);
}

export function sorted(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(sorted).join(',')}]`;
  if (!isObject(value)) return JSON.stringify(value);
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${entries.map(([name, one]) => `${JSON.stringify(name)}:${sorted(one)}`).join(',')}}`;
}

/** Invalid elements are skipped. */
export function listOf(value: unknown, element: (one: unknown) => string | null): string | null {
  if (!Array.isArray(value)) return null;
  return JSON.stringify(value.map(element).filter((one) => one !== null));
}

export function objectsOf(value: unknown): WireObject[] {
  return Array.isArray(value) ? value.filter(isObject) : [];
}
