/**
 * Wire fields: how one value of the service becomes the text that PostgreSQL stores. Each field takes every form that
 * the specification leaves possible (numbers as text and the other way round) and refuses what cannot be kept
 * without inventing something. Absent and null are both null and never a problem.
 */
import { z } from 'zod';
import { toInstant } from './instant-text.ts';
import type { IssueKind, ReportIssue, WireRecord } from './stream.ts';

/** Told about a value that cannot be taken; `suffix` is the place inside the field, e.g. `[2]`. */
type FieldReport = (problem: string, detail?: { kind?: IssueKind; suffix?: string; value?: unknown }) => void;

export interface Field<T> {
  read(value: unknown, report: FieldReport): T | null;
}

/** Plain words for what came instead. */
export function describeValue(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return `a list of ${value.length}`;
  if (typeof value === 'object') return 'an object';
  const shown = JSON.stringify(value);
  return `${typeof value === 'string' ? 'text' : typeof value} ${shown.length > 60 ? `${shown.slice(0, 57)}…` : shown}`;
}

/** `plain` takes the form in which the service shows the value; the schema knows all the others. */
function scalar<T>(
  expected: string,
  schema: z.ZodType<T>,
  plain: (value: unknown) => T | undefined = () => undefined,
): Field<T> {
  return {
    read(value, report) {
      if (value === undefined || value === null) return null;
      const taken = plain(value);
      if (taken !== undefined) return taken;
      const parsed = schema.safeParse(value);
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
/** The last ms that a JavaScript date can say (year 275760); PostgreSQL goes further. */
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

/** YYYYMMDD → `YYYY-MM-DD`; undefined when there is no such day. */
function toDate(digits: string): string | undefined {
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

function toKnownDay(value: unknown): string | undefined {
  if (typeof value !== 'number') return undefined;
  const known = knownDays.get(value);
  if (known !== undefined) return known;
  const day = Number.isInteger(value) && value >= 1e7 && value < 1e8 ? toDate(String(value)) : undefined;
  if (day !== undefined && knownDays.size < MOST_KNOWN_DAYS) knownDays.set(value, day);
  return day;
}

const identifierSchema = z
  .union([z.string(), z.int().transform(String)])
  .refine((value) => value.length <= MAX_KEY_BYTES / 4 || Buffer.byteLength(value) <= MAX_KEY_BYTES);

export const text: Field<string> = scalar(
  'text',
  z.union([z.string(), z.number().transform(String), z.boolean().transform(String)]),
  (value) => (typeof value === 'string' ? value : undefined),
);

/** Text that is short enough however many bytes its characters take. */
const toShortText = (value: unknown): string | undefined =>
  typeof value === 'string' && value.length <= MAX_KEY_BYTES / 4 ? value : undefined;

/** An identifier; a number is taken as its decimal text. */
export const identifier: Field<string> = scalar(
  `an identifier (text or whole number) of at most ${MAX_KEY_BYTES} bytes`,
  identifierSchema,
  toShortText,
);

/** An identifier that is part of a primary key. */
export const key: Field<string> = scalar(
  `an identifier of 1 to ${MAX_KEY_BYTES} bytes`,
  identifierSchema.refine((value) => value.length > 0),
  (value) => (value === '' ? undefined : toShortText(value)),
);

export const bigint: Field<string> = scalar(
  'a whole number',
  z
    .union([z.int().transform(String), z.string().regex(DIGITS)])
    // zod goes on to this check where the pattern before it has failed: BigInt would throw.
    .refine((value) => DIGITS.test(value) && BigInt(value) >= MIN_BIGINT && BigInt(value) <= MAX_BIGINT)
    .transform((value) => BigInt(value).toString()),
  (value) => (Number.isSafeInteger(value) ? String(value) : undefined),
);

export const numeric: Field<string> = scalar(
  'a number',
  z.union([z.number().transform(String), z.string().regex(/^-?\d{1,100}(\.\d{1,100})?$/)]),
);

/** A timestamp in milliseconds. */
export const instant: Field<string> = scalar(
  'a time in milliseconds since 1970',
  number.pipe(z.number().min(MIN_TIME_MS).max(MAX_TIME_MS)).transform(toInstant),
  (value) =>
    typeof value === 'number' && value >= MIN_TIME_MS && value <= MAX_TIME_MS ? toInstant(value) : undefined,
);

/** An eight-digit day. */
export const date: Field<string> = scalar(
  'a day in the form YYYYMMDD',
  z
    .union([z.int().transform(String), z.string()])
    .refine((value) => /^\d{8}$/.test(value) && toDate(value) !== undefined)
    .transform((value) => toDate(value) ?? ''),
  toKnownDay,
);

export const boolean: Field<boolean> = scalar(
  'true or false',
  z.union([z.boolean(), z.literal('true').transform(() => true), z.literal('false').transform(() => false)]),
  (value) => (typeof value === 'boolean' ? value : undefined),
);

/** Any JSON value as it came. */
export const anything: Field<unknown> = { read: (value) => value ?? null };

/** A JSON object as it came. */
export const object: Field<WireRecord> = scalar('an object', z.record(z.string(), z.unknown()));

/** Text with known values; others are kept and told. */
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

/** A list, element by element: one that cannot be taken is left out and told, the others stay. */
export function list<T>(element: Field<T>): Field<T[]> {
  return {
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
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

type Fields = Readonly<Record<string, Field<unknown>>>;
export type Values<F extends Fields> = { [K in keyof F]: F[K] extends Field<infer T> ? T | null : never };

export interface ReadFieldsOptions {
  readonly report: ReportIssue;
  /** Where the record stands in its parent: '' or `messages[2]`. */
  readonly at?: string;
}

/** The fields of an object as lists, made once for each kind of object. */
interface Reading {
  readonly names: readonly string[];
  readonly readers: readonly Field<unknown>[];
}

const readings = new WeakMap<Fields, Reading>();

function readingOf(fields: Fields): Reading {
  let reading = readings.get(fields);
  if (reading === undefined) {
    reading = { names: Object.keys(fields), readers: Object.values(fields) };
    readings.set(fields, reading);
  }
  return reading;
}

/** Reads one object field by field; what cannot be taken is null and reported, unknown fields are reported. */
export function readFields<const F extends Fields>(
  fields: F,
  record: WireRecord,
  { report, at = '' }: ReadFieldsOptions,
): Values<F> {
  const { names, readers } = readingOf(fields);
  const values: Record<string, unknown> = {};
  let name = '';
  let value: unknown;
  // One for all fields: they are read one after the other.
  const reportField: FieldReport = (problem, detail = {}) =>
    report({
      kind: detail.kind ?? 'field_nulled',
      field: prefixOf(at) + name + (detail.suffix ?? ''),
      problem,
      value: 'value' in detail ? detail.value : value,
    });
  let present = 0;
  for (let index = 0; index < names.length; index += 1) {
    name = names[index] ?? '';
    value = record[name];
    if (value !== undefined) present += 1;
    values[name] = readers[index]?.read(value, reportField);
  }
  if (Object.keys(record).length !== present) reportUnknown(fields, record, { report, at });
  return values as Values<F>;
}

const prefixOf = (at: string): string => (at === '' ? '' : `${at}.`);

function reportUnknown(fields: Fields, record: WireRecord, { report, at = '' }: ReadFieldsOptions): void {
  for (const unknown in record) {
    if (Object.hasOwn(fields, unknown)) continue;
    report({
      kind: 'unknown_field',
      field: `${prefixOf(at).replace(/\[\d+\]/g, '[]')}${unknown}`,
      problem: 'the specification names no such field',
      value: record[unknown],
      name: unknown,
    });
  }
}
