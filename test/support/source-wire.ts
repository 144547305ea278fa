/**
 * How the specification says that one value of the service is stored: written for the comparison alone, from the
 * specification, so that it cannot share a mistake with the worker.
 */
export type Cell = string | boolean | null;
export type WireObject = Record<string, unknown>;

const REPLACEMENT = '\uFFFD';

export function isObject(value: unknown): value is WireObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Text that PostgreSQL can hold. */
export function storable(value: unknown): unknown {
  if (typeof value === 'string') {
    let text = '';
    // Iteration goes by code points: what is a surrogate then stands alone.
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
  return typeof value === 'number' || typeof value === 'boolean' ? String(value) : null;
}

/** "A number where a string is specified is taken as its decimal text." */
export function id(value: unknown): string | null {
  if (typeof value === 'string') return value;
  return Number.isSafeInteger(value) ? String(value) : null;
}

function numeral(value: unknown): number | null {
  if (typeof value === 'number') return value;
  return typeof value === 'string' && /^-?\d+(\.\d+)?$/.test(value) ? Number(value) : null;
}

/** ms since 1970, between the year 1 and the last one that JavaScript can say. */
export function ms(value: unknown): string | null {
  const number = numeral(value);
  if (number === null || number < -62_135_596_800_000 || number > 8.64e15) return null;
  return String(Math.floor(number));
}

export function integer(value: unknown): string | null {
  if (Number.isSafeInteger(value)) return String(value);
  return typeof value === 'string' && /^-?\d{1,18}$/.test(value) ? String(BigInt(value)) : null;
}

export function decimal(value: unknown): string | null {
  const number = numeral(value);
  return number === null ? null : String(number);
}

export function yes(value: unknown): boolean | null {
  if (typeof value === 'boolean') return value;
  return value === 'true' ? true : value === 'false' ? false : null;
}

const DAYS_OF_MONTH = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

/** YYYYMMDD where there is such a day. */
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

function sorted(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(sorted).join(',')}]`;
  if (!isObject(value)) return JSON.stringify(value);
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${entries.map(([name, one]) => `${JSON.stringify(name)}:${sorted(one)}`).join(',')}}`;
}

/** Elements that cannot be taken are left out. */
export function listOf(value: unknown, element: (one: unknown) => string | null): string | null {
  if (!Array.isArray(value)) return null;
  return JSON.stringify(value.map(element).filter((one) => one !== null));
}

export function objectsOf(value: unknown): WireObject[] {
  return Array.isArray(value) ? value.filter(isObject) : [];
}
