/**
 * Wire fields: convert one value of the service to the text that PostgreSQL stores. Each field accepts every form that the
 * specification leaves possible (numbers as text and vice versa) and rejects values that cannot be kept without inventing
 * something. Absent and null both become null and are never a problem.
 */
import type { Received } from '../../shared/received.ts';
import { DAY_MS, SECOND_MS } from '../../shared/time.ts';
import type { IssueKind, WireRecord } from './stream.ts';

/** Called for a value that cannot be stored; `suffix` is the place inside the field, e.g. `[2]`. */
export type AddProblem = (
  problem: string,
  detail?: { kind?: IssueKind; suffix?: string; value?: unknown },
) => void;

export interface Field<T> {
  readonly read: (value: unknown, addProblem: AddProblem) => T | null;
}

/** A plain description of the received value. */
export function describeValue(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return `a list of ${value.length}`;
  if (typeof value === 'object') return 'an object';
  // JSON has no infinite number.
  const shown = typeof value === 'number' ? String(value) : JSON.stringify(value);
  return `${typeof value === 'string' ? 'text' : typeof value} ${shown.length > 60 ? `${shown.slice(0, 57)}…` : shown}`;
}

/** `take` returns undefined for a value that cannot be kept. */
function scalar<T>(expected: string, take: (value: unknown) => T | undefined): Field<T> {
  return {
    read(value, addProblem) {
      if (value === undefined || value === null) return null;
      const taken = take(value);
      if (taken !== undefined) return taken;
      addProblem(`expected ${expected}, got ${describeValue(value)}`);
      return null;
    },
  };
}

/** Many clients of PostgreSQL know the years 1 to 9999 only, in each time zone. */
const MIN_TIME_MS = Date.parse('0001-01-01T00:00:00-12:00');
const MAX_TIME_MS = Date.parse('9999-12-31T23:59:59.999+14:00');
/** An identifier must fit an index page (2.7 kB) together with the others of its key. */
const MAX_KEY_BYTES = 600;

/** Beyond 2^53 a double is no longer the number that was sent, and clients that read doubles would show another one. */
const isHeld = (value: unknown): value is number =>
  typeof value === 'number' && Math.abs(value) <= Number.MAX_SAFE_INTEGER;

function toIdentifier(value: unknown): string | undefined {
  const id = Number.isSafeInteger(value) ? String(value) : value;
  if (typeof id !== 'string') return undefined;
  // A text that is short enough however many bytes its characters take needs no count.
  const isShort = id.length <= MAX_KEY_BYTES / 4 || Buffer.byteLength(id) <= MAX_KEY_BYTES;
  return isShort ? id : undefined;
}

export const text: Field<string> = scalar('text', (value) => {
  if (typeof value === 'string') return value;
  return isHeld(value) || typeof value === 'boolean' ? String(value) : undefined;
});

/** An identifier; a number is taken as its decimal text. */
export const identifier: Field<string> = scalar(
  `an identifier (text or whole number) of at most ${MAX_KEY_BYTES} bytes`,
  toIdentifier,
);

/** An identifier that is part of a primary key. */
export const key: Field<string> = scalar(`an identifier of 1 to ${MAX_KEY_BYTES} bytes`, (value) =>
  value === '' ? undefined : toIdentifier(value),
);

/** The service may send any number as text. */
const toNumber = (value: unknown): unknown =>
  typeof value === 'string' && /^-?\d+(\.\d+)?$/.test(value) ? Number(value) : value;

export const bigint: Field<string> = scalar('a whole number up to 2^53', (value) => {
  const number = toNumber(value);
  // Without the sign of a zero.
  return Number.isSafeInteger(number) ? String(number) : undefined;
});

export const numeric: Field<string> = scalar('a number up to 2^53', (value) => {
  const number = toNumber(value);
  return isHeld(number) ? String(number) : undefined;
});

/** Records share days, and to make the text of one takes a microsecond. */
const MOST_REMEMBERED = 20_000;

function remember<T>(make: (value: number) => T): (value: number) => T {
  const known = new Map<number, T>();
  return (value) => {
    const found = known.get(value);
    if (found !== undefined) return found;
    if (known.size === MOST_REMEMBERED) known.clear();
    const made = make(value);
    known.set(value, made);
    return made;
  };
}

/** From days since 1970: `YYYY-MM-DDT`. */
const dayText = remember((day) => new Date(day * DAY_MS).toISOString().slice(0, 11));
const DIGITS = Array.from({ length: 1000 }, (_, number) => String(number).padStart(3, '0'));
const twoDigits = (number: number): string => (DIGITS[number] ?? '').slice(1);

/** As `toISOString` of a Date, in a third of its time. */
function isoText(sentMs: number): string {
  const ms = Math.trunc(sentMs);
  const day = Math.floor(ms / DAY_MS);
  const ofDay = ms - day * DAY_MS;
  const seconds = Math.floor(ofDay / SECOND_MS);
  const minutes = Math.floor(seconds / 60);
  return `${dayText(day)}${twoDigits(Math.floor(minutes / 60))}:${twoDigits(minutes % 60)}:${twoDigits(seconds % 60)}.${DIGITS[ofDay % SECOND_MS]}Z`;
}

/** ms since 1970; undefined where the value is absent or unusable. */
export function readMs(value: unknown): number | undefined {
  const ms = toNumber(value);
  return typeof ms === 'number' && ms >= MIN_TIME_MS && ms <= MAX_TIME_MS ? ms : undefined;
}

/** A timestamp in milliseconds. 0 is no time: services send it where none is set. */
export const instant: Field<string> = scalar('a time (ms since 1970, years 1 to 9999, not 0)', (value) => {
  const ms = readMs(value) ?? 0;
  return ms === 0 ? undefined : isoText(ms);
});

/** YYYYMMDD → `YYYY-MM-DD`; undefined when there is no such day. */
const toDate = remember((number): string | undefined => {
  const digits = String(number);
  const day = `${digits.slice(0, 4)}-${digits.slice(4, 6)}-${digits.slice(6)}`;
  const time = new Date(`${day}T00:00:00Z`);
  return Number.isNaN(time.getTime()) || !time.toISOString().startsWith(day) ? undefined : day;
});

/** An eight-digit day. */
export const date: Field<string> = scalar('a day in the form YYYYMMDD', (value) => {
  const number = toNumber(value);
  return typeof number === 'number' ? toDate(number) : undefined;
});

/** The day in UTC of a time in milliseconds, or an eight-digit day: eight digits that are no day are not a time of 1970. */
export const day: Field<string> = scalar(
  'a time in milliseconds since 1970, or a day in the form YYYYMMDD',
  (value) => {
    const number = toNumber(value);
    if (typeof number === 'number' && /^\d{8}$/.test(String(number))) return toDate(number);
    return instant.read(value, () => undefined)?.split('T', 1)[0];
  },
);

const BOOLEANS = new Map<unknown, boolean>([
  [true, true],
  ['true', true],
  [false, false],
  ['false', false],
]);

export const boolean: Field<boolean> = scalar('true or false', (value) => BOOLEANS.get(value));

/** Any JSON value, as received. */
export const anything: Field<unknown> = { read: (value) => value ?? null };

/** A JSON object, as received. */
export const object: Field<WireRecord> = scalar('an object', (value) =>
  isWireRecord(value) ? value : undefined,
);

const anyList: Field<unknown[]> = scalar('a list', (value) => (Array.isArray(value) ? value : undefined));

/** Text with known values; others are kept, with an issue. */
export function oneOf(known: readonly string[]): Field<string> {
  return {
    read(value, addProblem) {
      const taken = text.read(value, addProblem);
      if (taken !== null && !known.includes(taken)) {
        addProblem(`${describeValue(value)} is none of ${known.join(', ')}`, { kind: 'unknown_value' });
      }
      return taken;
    },
  };
}

/** The elements of a list that `take` accepts, each with its place in the problems. */
function elements<T>(
  value: unknown,
  addProblem: AddProblem,
  take: (item: unknown, addProblem: AddProblem, index: number) => T | null,
): T[] | null {
  const all = anyList.read(value, addProblem);
  if (all === null) return null;
  const taken: T[] = [];
  all.forEach((item, index) => {
    const addOne: AddProblem = (problem, detail) =>
      addProblem(problem, { value: item, ...detail, suffix: `[${index}]${detail?.suffix ?? ''}` });
    const one = take(item, addOne, index);
    if (one !== null) taken.push(one);
  });
  return taken;
}

/** A list, element by element: an element that cannot be stored is left out with an issue, the others stay. */
export const list = <T>(element: Field<T>): Field<T[]> => ({
  read: (value, addProblem) =>
    elements(value, addProblem, (item, addOne) => {
      if (item === null) addOne('expected an element, got null');
      return element.read(item, addOne);
    }),
});

/** Objects of a list, each with its position: the rows of a child table. */
export interface Item {
  readonly record: WireRecord;
  readonly index: number;
}

export const items: Field<Item[]> = {
  read: (value, addProblem) =>
    elements(value, addProblem, (record, addOne, index) => {
      if (isWireRecord(record)) return { record, index };
      addOne(`expected an object, got ${describeValue(record)}`, { kind: 'record_rejected' });
      return null;
    }),
};

export function isWireRecord(value: unknown): value is WireRecord {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

const fieldOf = (value: unknown, name: string): unknown => (isWireRecord(value) ? value[name] : undefined);

/** The key under which a record is stored; null: it has no usable one. */
export function recordKey(record: Received, keyField: string): string | null {
  if (record.key === undefined) {
    // A name with an escape (`"\u0069d"`) is found only when the record is parsed.
    const sent = record.field(keyField) ?? fieldOf(record.parse(), keyField);
    record.key = key.read(typeof sent === 'string' ? toStorableText(sent) : sent, () => undefined);
  }
  return record.key;
}

/** Replaces characters that PostgreSQL's text cannot store: NUL, and unpaired surrogates. */
export const toStorableText = (text: string): string => text.toWellFormed().replaceAll('\0', '\ufffd');
