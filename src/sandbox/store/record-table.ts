import type { Random } from '../random.ts';
import { RawNumber } from '../raw-number.ts';

/**
 * All records of one kind. The interface is that of a Map; records are immutable values that are replaced. `put` and
 * `update` accept any JSON object, so that a test can plant invalid records. `Kept`: what is stored of a record.
 */
export abstract class RecordTable<T extends object, Kept = unknown> {
  protected readonly kept = new Map<string, Kept>();
  readonly #keyField: string;

  constructor(keyField: string) {
    this.#keyField = keyField;
  }

  /** The record as of now. */
  protected abstract read(kept: Kept): T;

  /** `isVerbatim`: the status is that of the record; default: as for the record with this key. */
  protected abstract store(key: string, record: T, isVerbatim?: boolean): Kept;

  /** The key of a random record; there is at least one. */
  protected abstract anyKey(random: Random): string | undefined;

  get size(): number {
    return this.kept.size;
  }

  has(key: string): boolean {
    return this.kept.has(key);
  }

  get(key: string): T | undefined {
    const kept = this.kept.get(key);
    return kept === undefined ? undefined : this.read(kept);
  }

  keys(): MapIterator<string> {
    return this.kept.keys();
  }

  *values(): MapIterator<T> {
    for (const kept of this.kept.values()) yield this.read(kept);
  }

  *entries(): MapIterator<[string, T]> {
    for (const [key, kept] of this.kept) yield [key, this.read(kept)];
  }

  [Symbol.iterator](): MapIterator<[string, T]> {
    return this.entries();
  }

  /** A random record with its key; undefined if there are no records. */
  any(random: Random): readonly [key: string, record: T] | undefined {
    const key = this.size === 0 ? undefined : this.anyKey(random);
    const record = key === undefined ? undefined : this.get(key);
    return key === undefined || record === undefined ? undefined : [key, record];
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
  update(key: string, patch: object): T {
    const record = this.get(key);
    if (record === undefined) throw new Error(`update: no record has the key ${key}`);
    const fields = Object.entries({ ...record, ...patch }).filter(([, value]) => value !== undefined);
    return this.read(this.store(key, Object.fromEntries(fields) as T, 'status' in patch ? true : undefined));
  }

  delete(key: string): boolean {
    return this.kept.delete(key);
  }

  #keyOf(record: object): string {
    const key: unknown = (record as Record<string, unknown>)[this.#keyField];
    if (typeof key === 'string' || typeof key === 'number') return String(key);
    if (key instanceof RawNumber) return key.text;
    throw new TypeError(`put: ${this.#keyField} is neither a string nor a number; pass a key of its own`);
  }
}

interface KeptRecord<T> {
  readonly record: T;
  readonly isVerbatim: boolean;
}

interface MemoryTableOptions<T> {
  keyField: string;
  /** The record as of now. */
  current?: (record: T) => T;
}

export class MemoryTable<T extends object> extends RecordTable<T, KeptRecord<T>> {
  readonly #current: (record: T) => T;

  constructor({ keyField, current = (record) => record }: MemoryTableOptions<T>) {
    super(keyField);
    this.#current = current;
  }

  protected override read({ record, isVerbatim }: KeptRecord<T>): T {
    return isVerbatim ? record : this.#current(record);
  }

  protected override store(
    key: string,
    record: T,
    isVerbatim = this.kept.get(key)?.isVerbatim ?? false,
  ): KeptRecord<T> {
    const kept = { record, isVerbatim };
    this.kept.set(key, kept);
    return kept;
  }

  protected override anyKey(random: Random): string {
    return random.pick([...this.keys()]);
  }
}
