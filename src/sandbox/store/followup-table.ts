import type { Random } from '../random.ts';
import type { Followup } from '../records.ts';
import { FollowupIndex } from './followup-index.ts';
import type { FollowupQuery, FollowupQueryStyle } from './followup-index.ts';
import { keyOf, patched } from './record-table.ts';
import type { RecordTable } from './record-table.ts';

interface FollowupTableOptions {
  /** Number of seeded records, oldest first. */
  count: number;
  /** Generates the record of a slot; deterministic. */
  build: (slot: number) => Followup;
  clock: () => number;
}

/**
 * Stores only the filter columns and the changed records. Other records are generated again on each read, so that a million
 * of them take tens of megabytes.
 */
export class FollowupTable implements RecordTable<Followup> {
  readonly #build: (slot: number) => Followup;
  readonly #clock: () => number;
  readonly #index: FollowupIndex;
  readonly #changed = new Map<number, Followup>();
  readonly #slots = new Map<string, number>();
  readonly #keys: string[] = [];

  constructor(options: FollowupTableOptions) {
    this.#build = options.build;
    this.#clock = options.clock;
    this.#index = new FollowupIndex(options.count + 1024);
    const now = options.clock();
    for (let slot = 0; slot < options.count; slot += 1) {
      const record = options.build(slot);
      this.#index.insert(slot, record, now);
      this.#slots.set(record.id, slot);
      this.#keys.push(record.id);
    }
  }

  get size(): number {
    return this.#slots.size;
  }

  has(key: string): boolean {
    return this.#slots.has(key);
  }

  get(key: string): Followup | undefined {
    const slot = this.#slots.get(key);
    return slot === undefined ? undefined : this.#read(slot);
  }

  keys(): MapIterator<string> {
    return this.#slots.keys();
  }

  *values(): MapIterator<Followup> {
    for (const slot of this.#slots.values()) yield this.#read(slot);
  }

  *entries(): MapIterator<[string, Followup]> {
    for (const [key, slot] of this.#slots) yield [key, this.#read(slot)];
  }

  [Symbol.iterator](): MapIterator<[string, Followup]> {
    return this.entries();
  }

  forEach(visit: (value: Followup, key: string, map: ReadonlyMap<string, Followup>) => void): void {
    for (const [key, record] of this.entries()) visit(record, key, this);
  }

  put(record: object, key = keyOf(record, 'id')): string {
    const followup = record as Followup;
    const known = this.#slots.get(key);
    if (known === undefined) {
      const slot = this.#keys.length;
      this.#index.insert(slot, followup, this.#clock());
      this.#slots.set(key, slot);
      this.#keys.push(key);
      this.#changed.set(slot, followup);
    } else {
      this.#index.replace(known, followup);
      this.#changed.set(known, followup);
    }
    return key;
  }

  update(key: string, patch: object): Followup {
    const record = this.get(key);
    if (record === undefined) throw new Error(`update: no follow-up has the key ${key}`);
    const updated = patched(record, patch);
    this.put(updated, key);
    return updated;
  }

  delete(key: string): boolean {
    const slot = this.#slots.get(key);
    if (slot === undefined) return false;
    this.#index.remove(slot);
    this.#slots.delete(key);
    this.#changed.delete(slot);
    return true;
  }

  /** Prefers new records, as real changes do. */
  anyKey(random: Random): string | undefined {
    const size = this.#index.size;
    if (size === 0) return undefined;
    const position = size - 1 - Math.floor(random.next() ** 2 * size);
    return this.#keys[this.#index.slotAt(position)];
  }

  page(
    query: FollowupQuery,
    style: FollowupQueryStyle,
  ): { total: number; read: (from: number, to: number) => Followup[] } {
    const selection = this.#index.select(query, style, this.#clock());
    return {
      total: selection.total,
      read: (from, to) => selection.slice(from, to).map((slot) => this.#read(slot)),
    };
  }

  #read(slot: number): Followup {
    return this.#changed.get(slot) ?? this.#build(slot);
  }
}
