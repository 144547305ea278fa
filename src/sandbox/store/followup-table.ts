import { toDateNumber } from '../date-number.ts';
import type { Random } from '../random.ts';
import type { Followup } from '../records.ts';
import type { Readings } from '../service/readings.ts';
import { RecordTable } from './record-table.ts';

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

interface Row {
  readonly key: string;
  /** Number of the record, which never changes. If two records were created in one millisecond, the one with the higher number is newer. */
  readonly ordinal: number;
  readonly created: number;
  readonly updated: number;
}

export class FollowupTable extends RecordTable<Followup> {
  readonly #clock: () => number;
  readonly #rowOf = new Map<string, Row>();
  /** By creation time and ordinal, oldest first. */
  readonly #rows: Row[] = [];
  #nextOrdinal = 0;

  constructor(clock: () => number) {
    super('id');
    this.#clock = clock;
  }

  override delete(key: string): boolean {
    this.#removeRow(key);
    return super.delete(key);
  }

  page(
    query: FollowupQuery,
    { followupBounds, followupOrder }: Readings,
  ): { total: number; read: (from: number, to: number) => Followup[] } {
    const rows = this.#find(query, followupBounds === 'inclusive');
    if (followupOrder === 'unordered') rows.sort((a, b) => shuffled(a) - shuffled(b));
    if (followupOrder === 'newest-first') rows.reverse();
    return {
      total: rows.length,
      read: (from, to) => rows.slice(from, to).map((row) => this.#read(row)),
    };
  }

  /** The number that people see; undefined for one of two records with the same id. */
  displayId({ id }: Followup): string | undefined {
    const ordinal = this.#rowOf.get(id)?.ordinal;
    return ordinal === undefined ? undefined : String(ordinal + 1);
  }

  /** A record without a usable `created_on` keeps its place in the list; if its key is new, the present time decides the place. */
  protected override store(key: string, record: Followup, isVerbatim: boolean): void {
    const known = this.#removeRow(key);
    const now = this.#clock();
    const row = {
      key,
      ordinal: known?.ordinal ?? this.#nextOrdinal++,
      created: numberOr(record.created_on, known?.created ?? now),
      updated: numberOr(record.updated_on, known?.updated ?? now),
    };
    const before = this.#rows.findLastIndex(
      ({ created, ordinal }) => created < row.created || (created === row.created && ordinal < row.ordinal),
    );
    this.#rows.splice(before + 1, 0, row);
    this.#rowOf.set(key, row);
    super.store(key, record, isVerbatim);
  }

  /** Prefers new records, as real changes do. */
  protected override anyKey(random: Random): string {
    const row = this.#rows[this.size - 1 - Math.floor(random.next() ** 2 * this.size)];
    return row?.key ?? super.anyKey(random);
  }

  #read({ key }: Row): Followup {
    const record = this.get(key);
    if (record === undefined) throw new Error(`no follow-up has the key ${key}`);
    return record;
  }

  #removeRow(key: string): Row | undefined {
    const row = this.#rowOf.get(key);
    if (row !== undefined) this.#rows.splice(this.#rows.lastIndexOf(row), 1);
    this.#rowOf.delete(key);
    return row;
  }

  /** Oldest first. */
  #find(query: FollowupQuery, isInclusive: boolean): Row[] {
    const { form_id, response_id, status = 'all', observer_id, assignee_id } = query;
    const { created_after = -Infinity, created_before = Infinity } = query;
    const { updated_after = -Infinity, updated_before = Infinity } = query;
    const today = toDateNumber(this.#clock());
    const isWithin = isInclusive
      ? (ms: number, after: number, before: number) => ms >= after && ms <= before
      : (ms: number, after: number, before: number) => ms > after && ms < before;
    const hasStatus = ({ open, due }: { open?: unknown; due?: unknown }): boolean =>
      (open === true) === (status !== 'closed') &&
      (status !== 'overdue' || (typeof due === 'number' && due < today));
    const created = this.#rows.slice(this.#countUpTo(created_after - 1), this.#countUpTo(created_before));
    return created.filter(
      (row) =>
        isWithin(row.created, created_after, created_before) &&
        isWithin(row.updated, updated_after, updated_before) &&
        (form_id === undefined || this.#read(row).form_id === form_id) &&
        (response_id === undefined || this.#read(row).response_id === response_id) &&
        (observer_id === undefined || isUser(this.#read(row).m_observer_id, observer_id)) &&
        (assignee_id === undefined || isUser(this.#read(row).m_assignee_id, assignee_id)) &&
        (status === 'all' || hasStatus(this.#read(row))),
    );
  }

  /** The number of rows that were created at this time or before. */
  #countUpTo(ms: number): number {
    let [low, high] = [0, this.#rows.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#rows[middle]?.created ?? 0) <= ms) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

/** A planted record may have a number as an id. */
const isUser = (id: unknown, asked: string): boolean => String(id) === asked;

const shuffled = ({ ordinal }: Row): number => Math.imul(ordinal, 0x9e3779b1);

function numberOr(value: unknown, otherwise: number): number {
  return typeof value === 'number' && Number.isFinite(value) ? value : otherwise;
}
