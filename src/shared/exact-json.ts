/**
 * JSON with all digits of its numbers: a number that a double cannot represent is an ExactNumber, all other values are those
 * of JSON.parse.
 */
import { parse } from 'lossless-json';
import { ExactNumber, isHeldByDouble } from './exact-number.ts';

/**
 * Numbers of valid JSON text that a double may not represent: with a zero at the end of their fraction, of 16 characters or
 * more, or with an exponent. Text in quotes can look like one; that costs a second parse and changes nothing.
 */
const SUSPECT = /(?<=^|[:,[\s])-?(?:\d+\.\d*0|\d[\d.]{15,}|\d+(?:\.\d+)?[eE][+-]?\d+)(?=$|[,\]}\s])/g;

function mayHoldExactNumbers(text: string): boolean {
  for (const [number] of text.matchAll(SUSPECT)) if (!isHeldByDouble(number)) return true;
  return false;
}

/** Throws where JSON.parse throws. */
export function parseExactJson(text: string): unknown {
  const rounded: unknown = JSON.parse(text);
  if (!mayHoldExactNumbers(text)) return rounded;
  try {
    return parse(text, undefined, {
      parseNumber: (number) => (isHeldByDouble(number) ? Number(number) : new ExactNumber(number)),
      onDuplicateKey: ({ newValue }) => newValue,
    });
  } catch (error) {
    // Nesting of thousands of levels is too deep for this parser, and no record with so many levels is stored.
    if (error instanceof RangeError) return rounded;
    throw error;
  }
}

const isNested = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !(value instanceof ExactNumber);

function holdsExactNumbers(value: unknown): boolean {
  return value instanceof ExactNumber || (isNested(value) && Object.values(value).some(holdsExactNumbers));
}

/** PostgreSQL can store all numbers of the value. */
export function isStorableJson(value: unknown): boolean {
  if (value instanceof ExactNumber) return value.isStorable;
  return !isNested(value) || Object.values(value).every(isStorableJson);
}

/** JSON.stringify with exact numbers as numbers, as far as PostgreSQL can hold them. */
export function stringifyExactJson(value: unknown): string {
  return holdsExactNumbers(value)
    ? writeValue(value, (number) => number.toJsonText())
    : JSON.stringify(value);
}

/** Returns equal text for values that differ in the order of their fields, or in the notation of a number: 1.50 and 1.5. */
export function toCanonicalText(value: unknown): string {
  return writeValue(value, String, true);
}

function writeValue(value: unknown, ofNumber: (number: ExactNumber) => string, isSorted = false): string {
  if (value instanceof ExactNumber) return ofNumber(value);
  if (!isNested(value)) return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map((one) => writeValue(one, ofNumber, isSorted)).join(',')}]`;
  const entries = Object.entries(value);
  if (isSorted) entries.sort(([one], [other]) => (one < other ? -1 : 1));
  const fields = entries.map(
    ([name, inner]) => `${JSON.stringify(name)}:${writeValue(inner, ofNumber, isSorted)}`,
  );
  return `{${fields.join(',')}}`;
}

/** JSON that is already text. */
export class RawJson {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}
