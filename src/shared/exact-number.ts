/**
 * Numbers of JSON text that a double cannot represent: beyond 2^53, with more digits than it keeps, or with zeros at the end
 * that PostgreSQL's numeric keeps.
 */

/** `digits` · 10^`exponent`, without zeros at either end; no digits: zero. */
interface Decimal {
  readonly isNegative: boolean;
  readonly digits: string;
  readonly exponent: number;
  /** Digits after the point, as numeric keeps them. */
  readonly scale: number;
  /** The exponent as it was written. */
  readonly written: number;
}

const NUMBER = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/;

function toDecimal(text: string): Decimal {
  const [, sign = '', whole = '', fraction = '', power = '0'] = NUMBER.exec(text) ?? [];
  const all = whole + fraction;
  let start = 0;
  let end = all.length;
  while (end > 0 && all[end - 1] === '0') end -= 1;
  while (start < end && all[start] === '0') start += 1;
  const written = Number(power);
  return {
    isNegative: sign !== '' && start < end,
    digits: all.slice(start, end),
    exponent: start === end ? 0 : written - fraction.length + (all.length - end),
    scale: Math.max(0, fraction.length - written),
    written,
  };
}

/** PostgreSQL's numeric: digits before the point, digits after it, and the first exponent that it refuses to read. */
const MOST_DIGITS_BEFORE = 131_072;
const MOST_DIGITS_BEHIND = 16_383;
const FIRST_UNREADABLE_EXPONENT = 1_073_741_823;

/** Longer numbers are written with an exponent. */
const MOST_PLAIN_DIGITS = 1000;

/**
 * True when a double returns the number as jsonb would keep it. Always false for whole numbers beyond 2^53, and for a zero with an
 * exponent that PostgreSQL does not read.
 */
export function isHeldByDouble(text: string): boolean {
  const number = Number(text);
  const shown = String(number);
  if (!Number.isFinite(number) || (Number.isInteger(number) && !Number.isSafeInteger(number))) return false;
  if (shown === text) return true;
  const [received, held] = [toDecimal(text), toDecimal(shown)];
  return (
    received.digits === held.digits &&
    received.exponent === held.exponent &&
    received.scale === held.scale &&
    Math.abs(received.written) < FIRST_UNREADABLE_EXPONENT
  );
}

export class ExactNumber {
  /** As it was received. */
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }

  /** PostgreSQL's numeric and jsonb can hold it. */
  get isStorable(): boolean {
    const { digits, exponent, scale, written } = toDecimal(this.text);
    return (
      digits.length + exponent <= MOST_DIGITS_BEFORE &&
      scale <= MOST_DIGITS_BEHIND &&
      Math.abs(written) < FIRST_UNREADABLE_EXPONENT
    );
  }

  /** Rounded; infinite beyond the range of a double. */
  toNumber(): number {
    return Number(this.text);
  }

  /** The digits of a whole number; undefined for other numbers and for whole numbers that are too long to write out. */
  toWholeText(): string | undefined {
    const { isNegative, digits, exponent } = toDecimal(this.text);
    if (exponent < 0 || digits.length + exponent > MOST_PLAIN_DIGITS) return undefined;
    return digits === '' ? '0' : `${isNegative ? '-' : ''}${digits}${'0'.repeat(exponent)}`;
  }

  /** Decimal text without zeros at its end: equal for all notations of a number. */
  toString(): string {
    const whole = this.toWholeText();
    if (whole !== undefined) return whole;
    const { isNegative, digits, exponent, scale } = toDecimal(this.text);
    const shown = String(this.toNumber());
    const held = Number.isFinite(this.toNumber()) ? toDecimal(shown) : undefined;
    if (held?.digits === digits && held.exponent === exponent) return shown;
    const sign = isNegative ? '-' : '';
    if (exponent >= 0 || Math.max(digits.length, scale) > MOST_PLAIN_DIGITS)
      return `${sign}${digits}e${exponent}`;
    const padded = digits.padStart(1 - exponent, '0');
    return `${sign}${padded.slice(0, exponent)}.${padded.slice(exponent)}`;
  }

  /** JSON text that PostgreSQL can store: a number that it cannot store becomes a text. */
  toJsonText(): string {
    return this.isStorable ? this.text : `"${this.text}"`;
  }

  /** For messages: JSON.stringify cannot write it as a number. */
  toJSON(): string {
    return this.text;
  }
}
