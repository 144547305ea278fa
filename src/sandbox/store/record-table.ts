import type { Random } from '../random.ts';
import { RawNumber } from '../service/write-json.ts';

interface Rules<T> {
  /** The record as of now. */
  current?(record: T): T;
}

/**
 * All records of one kind. Records are immutable values that are replaced. `put` and `update` accept any JSON object, so
 * that a test can plant invalid records.
 */
export class RecordTable<T extends object> extends Map<string, T> {
  readonly #keyField: string;
  readonly #rules: Rules<T>;
  /** Keys of records with a status that depends on the clock. */
  readonly #living = new Set<string>();

  constructor(keyField: string, rules: Rules<T> = {}) {
    super();
    this.#keyField = keyField;
    this.#rules = rules;
  }

  override get(key: string): T | undefined {
    const record = super.get(key);
    const isLiving = record !== undefined && this.#living.has(key);
    return isLiving ? (this.#rules.current?.(record) ?? record) : record;
  }

  override *entries(): MapIterator<[string, T]> {
    for (const key of this.keys()) yield [key, this.get(key) as T];
  }

  override *values(): MapIterator<T> {
    for (const [, record] of this.entries()) yield record;
  }

  override [Symbol.iterator](): MapIterator<[string, T]> {
    return this.entries();
  }

  /** Statuses are of no concern to `matches`: only what it selects gets the present ones. */
  select(matches: (record: T) => boolean): T[] {
    return [...super.entries()].flatMap(([key, record]) => (matches(record) ? [this.get(key) as T] : []));
  }

  /** A random record with its key; new ones are preferred, as real changes do. undefined if there are no records. */
  any(random: Random): readonly [key: string, record: T] | undefined {
    const key = [...this.keys()].at(-1 - Math.floor(random.next() ** 2 * this.size));
    return key === undefined ? undefined : [key, this.get(key) as T];
  }

  /**
   * Stores a record as given, with a fixed `status`. The key is its identifier, or `key` if the identifier is missing,
   * invalid or a deliberate duplicate.
   */
  put(record: object, key = this.#keyOf(record)): string {
    this.#living.delete(key);
    this.set(key, record as T);
    return key;
  }

  /** A record with statuses that follow the clock. */
  putLiving(record: T): void {
    this.#living.add(this.put(record));
  }

  /** A field that is set to `undefined` is removed. Statuses still follow the clock unless `status` is set. */
  update(key: string, patch: object): void {
    const record = this.get(key);
    if (record === undefined) throw new Error(`update: no record has the key ${key}`);
    const fields = Object.entries({ ...record, ...patch }).filter(([, value]) => value !== undefined);
    if ('status' in patch) this.#living.delete(key);
    this.set(key, Object.fromEntries(fields) as T);
  }

  #keyOf(record: object): string {
    const key: unknown = (record as Record<string, unknown>)[this.#keyField];
    if (typeof key === 'string' || typeof key === 'number') return String(key);
    if (key instanceof RawNumber) return key.text;
    throw new TypeError(`put: ${this.#keyField} is neither a string nor a number; pass a key of its own`);
  }
}
