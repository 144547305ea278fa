import type { Random } from '../random.ts';
import { RawNumber } from '../raw-number.ts';

/**
 * All records of one kind. The interface is that of a Map; records are immutable values that are replaced. `put` and
 * `update` accept any JSON object, so that a test can plant invalid records.
 */
export interface RecordTable<T> extends ReadonlyMap<string, T> {
  /**
   * Stores a record as given, with a fixed `status`. The key is its identifier, or `key` if the identifier is missing,
   * invalid or a deliberate duplicate.
   */
  put(record: object, key?: string): string;
  /** Replaces some fields. A field set to `undefined` is removed. Statuses still follow the clock unless `status` is set. */
  update(key: string, patch: object): T;
  delete(key: string): boolean;
  /** A random key; undefined if there are no records. */
  anyKey(random: Random): string | undefined;
}

interface MemoryTableOptions<T> {
  keyField: string;
  /** The record as of now. */
  current?: (record: T) => T;
}

export class MemoryTable<T extends object> implements RecordTable<T> {
  readonly #records = new Map<string, T>();
  readonly #verbatim = new Set<string>();
  readonly #keyField: string;
  readonly #current: ((record: T) => T) | undefined;
  #keys: string[] | undefined;

  constructor(options: MemoryTableOptions<T>) {
    this.#keyField = options.keyField;
    this.#current = options.current;
  }

  get size(): number {
    return this.#records.size;
  }

  has(key: string): boolean {
    return this.#records.has(key);
  }

  get(key: string): T | undefined {
    const record = this.#records.get(key);
    return record === undefined ? undefined : this.#now(key, record);
  }

  keys(): MapIterator<string> {
    return this.#records.keys();
  }

  *values(): MapIterator<T> {
    for (const [key, record] of this.#records) yield this.#now(key, record);
  }

  *entries(): MapIterator<[string, T]> {
    for (const [key, record] of this.#records) yield [key, this.#now(key, record)];
  }

  [Symbol.iterator](): MapIterator<[string, T]> {
    return this.entries();
  }

  forEach(visit: (value: T, key: string, map: ReadonlyMap<string, T>) => void): void {
    for (const [key, record] of this.entries()) visit(record, key, this);
  }

  put(record: object, key = keyOf(record, this.#keyField)): string {
    this.#store(key, record as T);
    this.#verbatim.add(key);
    return key;
  }

  /** A record with statuses that follow the clock. */
  putLiving(record: T): void {
    const key = keyOf(record, this.#keyField);
    this.#store(key, record);
    this.#verbatim.delete(key);
  }

  update(key: string, patch: object): T {
    const record = this.get(key);
    if (record === undefined) throw new Error(`update: no record has the key ${key}`);
    const updated = patched(record, patch);
    this.#records.set(key, updated);
    if ('status' in patch) this.#verbatim.add(key);
    return this.#now(key, updated);
  }

  delete(key: string): boolean {
    this.#verbatim.delete(key);
    if (this.#records.delete(key)) this.#keys = undefined;
    else return false;
    return true;
  }

  anyKey(random: Random): string | undefined {
    if (this.#records.size === 0) return undefined;
    this.#keys ??= [...this.#records.keys()];
    return random.pick(this.#keys);
  }

  #store(key: string, record: T): void {
    if (!this.#records.has(key)) this.#keys?.push(key);
    this.#records.set(key, record);
  }

  #now(key: string, record: T): T {
    return this.#current === undefined || this.#verbatim.has(key) ? record : this.#current(record);
  }
}

export function keyOf(record: object, keyField: string): string {
  const key: unknown = (record as Record<string, unknown>)[keyField];
  if (typeof key === 'string' || typeof key === 'number') return String(key);
  if (key instanceof RawNumber) return key.text;
  throw new TypeError(`put: ${keyField} is neither a string nor a number; pass a key of its own`);
}

export function patched<T extends object>(record: T, patch: object): T {
  const merged = { ...record, ...patch } as Record<string, unknown>;
  for (const [field, value] of Object.entries(merged)) {
    // eslint-disable-next-line @typescript-eslint/no-dynamic-delete -- JSON has no undefined: the field goes.
    if (value === undefined) delete merged[field];
  }
  return merged as T;
}
