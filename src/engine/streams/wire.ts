/**
 * Wire fields: convert one value of the service to the text that PostgreSQL stores. Each field accepts every form that the
 * specification leaves possible (numbers as text and vice versa) and rejects values that cannot be kept without inventing
 * something. Absent and null both become null and are never a problem.
 */
import * as z from 'zod';
import { ExactNumber } from '../../shared/exact-number.ts';
import type { Received } from '../../shared/received.ts';
import { toDate, toInstant, toKnownDay } from './time-text.ts';
import type { IssueKind, WireRecord } from './stream.ts';

/** Called for a value that cannot be stored; `suffix` is the place inside the field, e.g. `[2]`. */
export type ReportProblem = (
  problem: string,
  detail?: { kind?: IssueKind; suffix?: string; value?: unknown },
) => void;

export interface Field<T> {
  readonly read: (value: unknown, report: ReportProblem) => T | null;
  /** See `WireField`. */
  readonly isText?: true;
  /** Unit of a number that represents a time, for the dictionary. */
  readonly unit?: 'ms' | 'YYYYMMDD';
}

/** A plain description of the received value. */
export function describeValue(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return `a list of ${value.length}`;
  const isNumber = value instanceof ExactNumber;
  if (typeof value === 'object' && !isNumber) return 'an object';
  const shown = isNumber ? value.text : JSON.stringify(value);
  return `${typeof value === 'string' ? 'text' : isNumber ? 'number' : typeof value} ${shown.length > 60 ? `${shown.slice(0, 57)}…` : shown}`;
}

/** Used if every digit matters; elsewhere an exact number is read as the nearest double. */
type ReadExact = (number: ExactNumber) => unknown;

const toDouble: ReadExact = (number) => number.toNumber();
const toWhole: ReadExact = (number) => number.toWholeText() ?? number.toNumber();

interface ScalarOptions<T> extends Pick<Field<T>, 'unit'> {
  /** Accepts the form that the service uses; the schema accepts all others. */
  readonly plain?: (value: unknown) => T | undefined;
  /** The input of the schema for an exact number. */
  readonly exact?: ReadExact;
}

function scalar<T>(
  expected: string,
  schema: z.ZodType<T>,
  { plain = () => undefined, exact = toDouble, ...about }: ScalarOptions<T> = {},
): Field<T> {
  return {
    ...about,
    read(value, report) {
      if (value === undefined || value === null) return null;
      const taken = plain(value);
      if (taken !== undefined) return taken;
      const parsed = schema.safeParse(value instanceof ExactNumber ? exact(value) : value);
      if (parsed.success) return parsed.data;
      report(`expected ${expected}, got ${describeValue(value)}`);
      return null;
    },
  };
}

const DIGITS = /^-?\d{1,19}$/;
const MIN_BIGINT = -(2n ** 63n);
const MAX_BIGINT = 2n ** 63n - 1n;
const MIN_TIME_MS = Date.parse('0001-01-01T00:00:00Z');
/** The last ms of a JavaScript date (year 275760); PostgreSQL has a larger range. */
const MAX_TIME_MS = 8.64e15;
/** An identifier must fit an index page (2.7 kB) together with the others of its key. */
const MAX_KEY_BYTES = 600;

const number = z.union([
  z.number(),
  z
    .string()
    .regex(/^-?\d+(\.\d+)?$/)
    .transform(Number)
    .pipe(z.number()),
]);

const identifierSchema = z
  .union([z.string(), z.int().transform(String)])
  .refine((value) => value.length <= MAX_KEY_BYTES / 4 || Buffer.byteLength(value) <= MAX_KEY_BYTES);

export const text: Field<string> = {
  ...scalar('text', z.union([z.string(), z.number().transform(String), z.boolean().transform(String)]), {
    plain: (value) => (typeof value === 'string' ? value : undefined),
    exact: String,
  }),
  isText: true,
};

/** Text that is short enough however many bytes its characters take. */
const toShortText = (value: unknown): string | undefined =>
  typeof value === 'string' && value.length <= MAX_KEY_BYTES / 4 ? value : undefined;

/** An identifier; a number is taken as its decimal text. */
export const identifier: Field<string> = scalar(
  `an identifier (text or whole number) of at most ${MAX_KEY_BYTES} bytes`,
  identifierSchema,
  { plain: toShortText, exact: toWhole },
);

/** An identifier that is part of a primary key. */
export const key: Field<string> = scalar(
  `an identifier of 1 to ${MAX_KEY_BYTES} bytes`,
  identifierSchema.refine((value) => value.length > 0),
  { plain: (value) => (value === '' ? undefined : toShortText(value)), exact: toWhole },
);

export const bigint: Field<string> = scalar(
  'a whole number',
  z
    .union([z.int().transform(String), z.string().regex(DIGITS)])
    // zod runs this check even after the pattern before it has failed, and BigInt would then throw.
    .refine((value) => DIGITS.test(value) && BigInt(value) >= MIN_BIGINT && BigInt(value) <= MAX_BIGINT)
    .transform((value) => BigInt(value).toString()),
  { plain: (value) => (Number.isSafeInteger(value) ? String(value) : undefined), exact: toWhole },
);

export const numeric: Field<string> = scalar(
  'a number',
  z.union([z.number().transform(String), z.string().regex(/^-?\d{1,100}(\.\d{1,100})?$/)]),
  {
    plain(value) {
      if (typeof value === 'number' && Number.isFinite(value)) return String(value);
      return value instanceof ExactNumber && value.isStorable ? value.text : undefined;
    },
    exact: () => undefined,
  },
);

/** A timestamp in milliseconds. */
export const instant: Field<string> = scalar(
  'a time in milliseconds since 1970',
  number.pipe(z.number().min(MIN_TIME_MS).max(MAX_TIME_MS)).transform(toInstant),
  {
    unit: 'ms',
    plain: (value) =>
      typeof value === 'number' && value >= MIN_TIME_MS && value <= MAX_TIME_MS
        ? toInstant(value)
        : undefined,
  },
);

/** An eight-digit day. */
export const date: Field<string> = scalar(
  'a day in the form YYYYMMDD',
  z
    .union([z.int().transform(String), z.string()])
    .refine((value) => /^\d{8}$/.test(value) && toDate(value) !== undefined)
    .transform((value) => toDate(value) ?? ''),
  { unit: 'YYYYMMDD', plain: toKnownDay },
);

export const boolean: Field<boolean> = scalar(
  'true or false',
  z.union([z.boolean(), z.literal('true').transform(() => true), z.literal('false').transform(() => false)]),
  { plain: (value) => (typeof value === 'boolean' ? value : undefined) },
);

/** Any JSON value, as received. */
export const anything: Field<unknown> = { read: (value) => value ?? null };

/** A JSON object, as received. */
export const object: Field<WireRecord> = scalar('an object', z.record(z.string(), z.unknown()));

/** Text with known values; others are kept and reported. */
export function oneOf(known: readonly string[]): Field<string> {
  return {
    read(value, report) {
      const taken = text.read(value, report);
      if (taken !== null && !known.includes(taken)) {
        report(`${describeValue(value)} is none of ${known.join(', ')}`, { kind: 'unknown_value' });
      }
      return taken;
    },
  };
}

/** A list, element by element: an element that cannot be stored is left out and reported, the others stay. */
export function list<T>(element: Field<T>): Field<T[]> {
  return {
    ...(element.isText === true ? { isText: true } : {}),
    read(value, report) {
      if (value === undefined || value === null) return null;
      if (!Array.isArray(value)) {
        report(`expected a list, got ${describeValue(value)}`);
        return null;
      }
      const taken: T[] = [];
      value.forEach((item: unknown, index) => {
        const suffix = `[${index}]`;
        if (item === null) report('expected an element, got null', { suffix, value: null });
        const one = element.read(item, (problem, detail) =>
          report(problem, { value: item, ...detail, suffix: suffix + (detail?.suffix ?? '') }),
        );
        if (one !== null) taken.push(one);
      });
      return taken;
    },
  };
}

/** Objects of a list, each with its position: the rows of a child table. */
export interface Item {
  readonly record: WireRecord;
  readonly index: number;
}

export const items: Field<Item[]> = {
  read(value, report) {
    if (value === undefined || value === null) return null;
    if (!Array.isArray(value)) {
      report(`expected a list, got ${describeValue(value)}`);
      return null;
    }
    const taken: Item[] = [];
    value.forEach((record: unknown, index) => {
      if (isWireRecord(record)) taken.push({ record, index });
      else
        report(`expected an object, got ${describeValue(record)}`, {
          kind: 'record_rejected',
          suffix: `[${index}]`,
          value: record,
        });
    });
    return taken;
  },
};

export function isWireRecord(value: unknown): value is WireRecord {
  return (
    typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof ExactNumber)
  );
}

/** The key under which a record is stored; null: it has no usable one. */
export function keyOf(record: Received, keyField: string): string | null {
  if (record.key === undefined) {
    const sent = record.field(keyField);
    record.key = key.read(typeof sent === 'string' ? toStorableText(sent) : sent, () => undefined);
  }
  return record.key;
}

/** Replaces characters that PostgreSQL's text cannot store: NUL, and unpaired surrogates. */
export const toStorableText = (text: string): string => text.toWellFormed().replaceAll('\0', '\ufffd');
