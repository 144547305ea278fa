import type { Followup } from '../records.ts';

/** The filter columns of follow-ups: one array per field, one element per slot. Grows by doubling. */
export class FollowupColumns {
  created: Float64Array;
  updated: Float64Array;
  form: Float64Array;
  response: Float64Array;
  due: Float64Array;
  open: Uint8Array;
  observer: Int32Array;
  assignee: Int32Array;
  readonly #userNumbers = new Map<string, number>();

  constructor(capacity: number) {
    this.created = new Float64Array(capacity);
    this.updated = new Float64Array(capacity);
    this.form = new Float64Array(capacity);
    this.response = new Float64Array(capacity);
    this.due = new Float64Array(capacity);
    this.open = new Uint8Array(capacity);
    this.observer = new Int32Array(capacity);
    this.assignee = new Int32Array(capacity);
  }

  /** A planted record without a usable time keeps its position; a new one counts as created at `now`. */
  write(slot: number, record: Partial<Followup>, now?: number): void {
    if (slot >= this.created.length) this.#grow();
    this.created[slot] = numberOr(record.created_on, now ?? this.created[slot] ?? 0);
    this.updated[slot] = numberOr(record.updated_on, now ?? this.updated[slot] ?? 0);
    this.form[slot] = numberOr(record.form_id, NaN);
    this.response[slot] = numberOr(record.response_id, NaN);
    this.due[slot] = numberOr(record.due, NaN);
    this.open[slot] = record.open === true ? 1 : 0;
    this.observer[slot] = this.#numberUser(record.m_observer_id);
    this.assignee[slot] = this.#numberUser(record.m_assignee_id);
  }

  /** The number of a user in `observer` and `assignee`; an unused number for an unknown id. */
  userNumber(id: string): number {
    return this.#userNumbers.get(id) ?? -1;
  }

  #numberUser(id: unknown): number {
    if (typeof id !== 'string' && typeof id !== 'number') return -2;
    const known = this.#userNumbers.get(String(id));
    if (known !== undefined) return known;
    this.#userNumbers.set(String(id), this.#userNumbers.size);
    return this.#userNumbers.size - 1;
  }

  #grow(): void {
    const capacity = Math.max(16, this.created.length * 2);
    this.created = larger(this.created, new Float64Array(capacity));
    this.updated = larger(this.updated, new Float64Array(capacity));
    this.form = larger(this.form, new Float64Array(capacity));
    this.response = larger(this.response, new Float64Array(capacity));
    this.due = larger(this.due, new Float64Array(capacity));
    this.open = larger(this.open, new Uint8Array(capacity));
    this.observer = larger(this.observer, new Int32Array(capacity));
    this.assignee = larger(this.assignee, new Int32Array(capacity));
  }
}

function larger<T extends Float64Array | Int32Array | Uint8Array>(old: T, column: T): T {
  column.set(old);
  return column;
}

function numberOr(value: unknown, otherwise: number): number {
  return typeof value === 'number' && Number.isFinite(value) ? value : otherwise;
}
