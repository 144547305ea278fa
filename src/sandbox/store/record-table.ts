import type { Random } from '../random.ts';
import { RawNumber } from '../raw-number.ts';

interface Kept<T> {
  readonly record: T;
  /** The status is that of the record, whatever the clock says. */
  readonly isVerbatim: boolean;
}

interface Rules<T> {
  /** The record as of now. */
  current?(record: T): T;
}

/**
 * All records of one kind. The interface is that of a Map; records are immutable values that are replaced. `put` and
 * `update` accept any JSON object, so that a test can plant invalid records.
 */
export class RecordTable<T extends object> {
  readonly #kept = new Map<string, Kept<T>>();
  readonly #keyField: string;
  readonly #rules: Rules<T>;

  constructor(keyField: string, rules: Rules<T> = {}) {
    this.#keyField = keyField;
    this.#rules = rules;
  }

  get size(): number {
    return this.#kept.size;
  }

  has(key: string): boolean {
    return this.#kept.has(key);
  }

  get(key: string): T | undefined {
    const kept = this.#kept.get(key);
    return kept && this.#read(kept);
  }

  keys(): MapIterator<string> {
    return this.#kept.keys();
  }

  *values(): MapIterator<T> {
    for (const [, record] of this.entries()) yield record;
  }

  *entries(): MapIterator<[string, T]> {
    for (const [key, kept] of this.#kept) yield [key, this.#read(kept)];
  }

  [Symbol.iterator](): MapIterator<[string, T]> {
    return this.entries();
  }

  /** A random record with its key; undefined if there are no records. */
  any(random: Random): readonly [key: string, record: T] | undefined {
    if (this.size === 0) return undefined;
    const key = this.anyKey(random);
    const record = this.get(key);
    return record && [key, record];
  }

  /**
   * Stores a record as given, with a fixed `status`. The key is its identifier, or `key` if the identifier is missing,
   * invalid or a deliberate duplicate.
   */
  put(record: object, key = this.#keyOf(record)): string {
    this.store(key, record as T, true);
    return key;
  }

  /** A record with statuses that follow the clock. */
  putLiving(record: T): void {
    this.store(this.#keyOf(record), record, false);
  }

  /** A field that is set to `undefined` is removed. Statuses still follow the clock unless `status` is set. */
  update(key: string, patch: object): void {
    const record = this.get(key);
    if (record === undefined) throw new Error(`update: no record has the key ${key}`);
    const fields = Object.entries({ ...record, ...patch }).filter(([, value]) => value !== undefined);
    const isVerbatim = 'status' in patch || this.#kept.get(key)?.isVerbatim === true;
    this.store(key, Object.fromEntries(fields) as T, isVerbatim);
  }

  delete(key: string): boolean {
    return this.#kept.delete(key);
  }

  protected store(key: string, record: T, isVerbatim: boolean): void {
    this.#kept.set(key, { record, isVerbatim });
  }

  /** The key of a random record; there is at least one. */
  protected anyKey(random: Random): string {
    return random.pick([...this.keys()]);
  }

  #read({ record, isVerbatim }: Kept<T>): T {
    return isVerbatim ? record : (this.#rules.current?.(record) ?? record);
  }

  #keyOf(record: object): string {
    const key: unknown = (record as Record<string, unknown>)[this.#keyField];
    if (typeof key === 'string' || typeof key === 'number') return String(key);
    if (key instanceof RawNumber) return key.text;
    throw new TypeError(`put: ${this.#keyField} is neither a string nor a number; pass a key of its own`);
  }
}
