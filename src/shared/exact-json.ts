/** JSON whose numbers keep every digit: what a double does not hold is an ExactNumber, everything else is as JSON.parse has it. */
import { parse } from 'lossless-json';
import { ExactNumber, isHeldByDouble } from './exact-number.ts';

/**
 * Numbers of valid JSON text that a double may not hold: with a zero at the end of their fraction, of 16 characters or
 * more, or with an exponent. Text in quotes can look like one; that costs a second reading and changes nothing.
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
    // Thousands of levels: too deep for this parser, and no record is stored with as many.
    if (error instanceof RangeError) return rounded;
    throw error;
  }
}

function holdsExactNumbers(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return value instanceof ExactNumber || Object.values(value).some(holdsExactNumbers);
}

/** JSON.stringify with exact numbers as numbers, as far as PostgreSQL can hold them. */
export function stringifyExactJson(value: unknown): string {
  return holdsExactNumbers(value) ? write(value) : JSON.stringify(value);
}

function write(value: unknown): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  if (value instanceof ExactNumber) return value.toJsonText();
  if (Array.isArray(value)) return `[${value.map(write).join(',')}]`;
  const fields = Object.entries(value).map(([name, inner]) => `${JSON.stringify(name)}:${write(inner)}`);
  return `{${fields.join(',')}}`;
}

/** JSON that is already text. */
export class RawJson {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}
