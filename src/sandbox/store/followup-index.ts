import { toDateNumber } from '../date-number.ts';
import type { Followup } from '../records.ts';
import { FollowupColumns } from './followup-columns.ts';
import { SlotOrder } from './slot-order.ts';

export interface FollowupQuery {
  form_id?: number;
  response_id?: number;
  status?: 'all' | 'open' | 'closed' | 'overdue';
  observer_id?: string;
  assignee_id?: string;
  created_before?: number;
  created_after?: number;
  updated_before?: number;
  updated_after?: number;
}

export interface FollowupQueryStyle {
  bounds: 'exclusive' | 'inclusive';
  order: 'newest-first' | 'oldest-first' | 'unordered';
  ties: 'settled' | 'changing';
}

interface Selection {
  total: number;
  /** Slots `from` ≤ i < `to` of the requested order. */
  slice(from: number, to: number): number[];
}

/**
 * A columnar index of follow-ups: a filter over a million of them reads typed arrays instead of objects. A record's slot
 * never changes; of records created in one millisecond, the later slot is the newer one.
 */
export class FollowupIndex {
  readonly #columns: FollowupColumns;
  readonly #byCreated: SlotOrder;
  #byUpdated: SlotOrder | undefined;
  readonly #matches = new Map<string, Int32Array>();
  #turns = 0;

  constructor(capacity: number) {
    this.#columns = new FollowupColumns(capacity);
    this.#byCreated = new SlotOrder(() => this.#columns.created, capacity);
  }

  get size(): number {
    return this.#byCreated.size;
  }

  /** The slot of the `position`th oldest record. */
  slotAt(position: number): number {
    return this.#byCreated.at(position);
  }

  insert(slot: number, record: Partial<Followup>, now: number): void {
    this.#columns.write(slot, record, now);
    this.#add(slot);
  }

  replace(slot: number, record: Partial<Followup>): void {
    this.remove(slot);
    this.#columns.write(slot, record);
    this.#add(slot);
  }

  remove(slot: number): void {
    this.#byCreated.remove(slot);
    this.#byUpdated?.remove(slot);
    this.#matches.clear();
  }

  select(query: FollowupQuery, style: FollowupQueryStyle, now: number): Selection {
    const created = this.#byCreated.range(query.created_after, query.created_before, style.bounds);
    const settled =
      style.order !== 'unordered' && isByCreationOnly(query)
        ? this.#byCreated.view(created.from, created.to)
        : this.#matching(query, style, now, created);
    const slots = style.ties === 'changing' ? this.#turnTies(settled) : settled;
    const total = slots.length;
    return {
      total,
      slice: (from, to) => {
        const slice: number[] = [];
        for (let index = from; index < Math.min(to, total); index += 1) {
          slice.push(slots[style.order === 'newest-first' ? total - 1 - index : index] ?? 0);
        }
        return slice;
      },
    };
  }

  /** Each call starts the records of one millisecond with a different one. */
  #turnTies(slots: Int32Array): Int32Array {
    this.#turns += 1;
    const turned = Int32Array.from(slots);
    const { created } = this.#columns;
    for (let from = 0, to = 0; from < slots.length; from = to) {
      while (to < slots.length && created[slots[to] ?? 0] === created[slots[from] ?? 0]) to += 1;
      const count = to - from;
      for (let index = 0; index < count; index += 1) {
        turned[from + index] = slots[from + ((index + this.#turns) % count)] ?? 0;
      }
    }
    return turned;
  }

  /** Cached until the next change, because the next request is usually for the next page. */
  #matching(
    query: FollowupQuery,
    style: FollowupQueryStyle,
    now: number,
    created: { from: number; to: number },
  ): Int32Array {
    const today = toDateNumber(now);
    const cacheKey = JSON.stringify([query, style, query.status === 'overdue' ? today : 0]);
    const known = this.#matches.get(cacheKey);
    if (known !== undefined) return known;
    const matches = this.#scan(query, style, today, created);
    if (style.order === 'unordered') {
      matches.sort((a, b) => Math.imul(a, 0x9e3779b1) - Math.imul(b, 0x9e3779b1));
    }
    if (this.#matches.size >= 8) this.#matches.clear();
    this.#matches.set(cacheKey, matches);
    return matches;
  }

  #scan(
    query: FollowupQuery,
    style: FollowupQueryStyle,
    today: number,
    created: { from: number; to: number },
  ): Int32Array {
    let candidates = this.#byCreated.view(created.from, created.to);
    let isInCreationOrder = true;
    if (query.updated_after !== undefined || query.updated_before !== undefined) {
      this.#byUpdated ??= this.#byCreated.sortedBy(() => this.#columns.updated);
      const updated = this.#byUpdated.range(query.updated_after, query.updated_before, style.bounds);
      if (updated.to - updated.from < candidates.length / 8) {
        candidates = this.#byUpdated.view(updated.from, updated.to);
        isInCreationOrder = false;
      }
    }
    const matches = new Int32Array(candidates.length);
    let count = 0;
    const accepts = this.#predicate(query, style, today);
    for (const slot of candidates) {
      if (accepts(slot)) {
        matches[count] = slot;
        count += 1;
      }
    }
    const found = matches.slice(0, count);
    return isInCreationOrder ? found : found.sort((a, b) => this.#byCreated.compare(a, b));
  }

  #predicate(query: FollowupQuery, style: FollowupQueryStyle, today: number): (slot: number) => boolean {
    const columns = this.#columns;
    const tests: ((slot: number) => boolean)[] = [];
    const inclusive = style.bounds === 'inclusive';
    const within = (column: Float64Array, after: number | undefined, before: number | undefined): void => {
      if (after !== undefined) {
        tests.push((slot) => (column[slot] ?? 0) > after || (inclusive && column[slot] === after));
      }
      if (before !== undefined) {
        tests.push((slot) => (column[slot] ?? 0) < before || (inclusive && column[slot] === before));
      }
    };
    const equal = (column: Float64Array | Int32Array | Uint8Array, value: number | undefined): void => {
      if (value !== undefined) tests.push((slot) => column[slot] === value);
    };
    within(columns.updated, query.updated_after, query.updated_before);
    within(columns.created, query.created_after, query.created_before);
    equal(columns.form, query.form_id);
    equal(columns.response, query.response_id);
    if (query.observer_id !== undefined) {
      equal(columns.observer, columns.userNumber(query.observer_id));
    }
    if (query.assignee_id !== undefined) {
      equal(columns.assignee, columns.userNumber(query.assignee_id));
    }
    if (query.status === 'open' || query.status === 'overdue') equal(columns.open, 1);
    if (query.status === 'closed') equal(columns.open, 0);
    if (query.status === 'overdue') tests.push((slot) => (columns.due[slot] ?? NaN) < today);
    return (slot) => {
      for (const test of tests) if (!test(slot)) return false;
      return true;
    };
  }

  #add(slot: number): void {
    this.#byCreated.insert(slot);
    this.#byUpdated?.insert(slot);
    this.#matches.clear();
  }
}

function isByCreationOnly(query: FollowupQuery): boolean {
  return Object.entries(query).every(
    ([field, value]) =>
      value === undefined ||
      field === 'created_before' ||
      field === 'created_after' ||
      (field === 'status' && value === 'all'),
  );
}
