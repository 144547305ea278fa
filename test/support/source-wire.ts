/**
 * Converts single values of the service as the specification requires. Written independently of the worker, so that both
 * cannot share a mistake.
 */
export type Cell = string | boolean | null;
export type WireObject = Record<string, unknown>;

const REPLACEMENT = '\uFFFD';

/** A number in JSON that a double would round or format differently. */
class Numeral {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

const NUMERAL_MARK = '\u0002numeral ';

/** Parses JSON with exact numbers: a token that differs from the double's own form becomes a Numeral. */
export function parseExactly(json: string): unknown {
  const marked = json.replace(/"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*/g, (token) =>
    token.startsWith('"') || (String(Number(token)) === token && Math.abs(Number(token)) <= 2 ** 53)
      ? token
      : JSON.stringify(NUMERAL_MARK + token),
  );
  return JSON.parse(marked, (_, value: unknown) =>
    typeof value === 'string' && value.startsWith(NUMERAL_MARK)
      ? new Numeral(value.slice(NUMERAL_MARK.length))
      : value,
  );
}

/** A number without exponent, leading and trailing zeros. */
export function plainDecimal(text: string): string {
  const [mantissa = '', power = '0'] = text.toLowerCase().split('e');
  const [whole = '', fraction = ''] = mantissa.replace('-', '').split('.');
  const point = whole.length + Number(power);
  const digits = whole + fraction;
  const padded = digits.padStart(digits.length + Math.max(0, -point), '0').padEnd(Math.max(point, 0), '0');
  const at = Math.max(point, 0);
  const before = padded.slice(0, at).replace(/^0+/, '') || '0';
  const behind = padded.slice(at).replace(/0+$/, '');
  const plain = behind === '' ? before : `${before}.${behind}`;
  return text.startsWith('-') && plain !== '0' ? `-${plain}` : plain;
}

/** The plain decimal of any number. */
const numberText = (value: unknown): string | null =>
  value instanceof Numeral || typeof value === 'number'
    ? plainDecimal(value instanceof Numeral ? value.text : String(value))
    : null;

export function isObject(value: unknown): value is WireObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Numeral);
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
  if (value instanceof Numeral) return numberText(value);
  return typeof value === 'number' || typeof value === 'boolean' ? String(value) : null;
}

/** "A number where a string is specified is taken as its decimal text." */
export function id(value: unknown): string | null {
  if (typeof value === 'string') return value;
  const whole = numberText(value);
  return whole !== null && /^-?\d+$/.test(whole) ? whole : null;
}

function numeral(value: unknown): number | null {
  if (typeof value === 'number') return value;
  if (value instanceof Numeral) return Number(value.text);
  return typeof value === 'string' && /^-?\d+(\.\d+)?$/.test(value) ? Number(value) : null;
}

/** ms since 1970, between the year 1 and JavaScript's last date. */
export function ms(value: unknown): string | null {
  const number = numeral(value);
  if (number === null || number < -62_135_596_800_000 || number > 8.64e15) return null;
  return String(Math.floor(number));
}

export function integer(value: unknown): string | null {
  const digits = numberText(value) ?? value;
  if (typeof digits !== 'string' || !/^-?\d{1,19}$/.test(digits)) return null;
  const whole = BigInt(digits);
  return whole >= -(2n ** 63n) && whole < 2n ** 63n ? String(whole) : null;
}

export function decimal(value: unknown): string | null {
  const isText = typeof value === 'string' && /^-?\d+(\.\d+)?$/.test(value);
  return isText ? plainDecimal(value) : numberText(value);
}

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
  const number = numberText(value);
  if (number !== null) return number;
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
