import { toDateNumber } from '../date-number.ts';
import type { Followup } from '../records.ts';
import { RecordTable } from './record-table.ts';

interface FollowupQuery {
  form_id?: number | undefined;
  response_id?: number | undefined;
  status?: 'all' | 'open' | 'closed' | 'overdue' | undefined;
  observer_id?: string | undefined;
  assignee_id?: string | undefined;
  created_before?: number | undefined;
  created_after?: number | undefined;
  updated_before?: number | undefined;
  updated_after?: number | undefined;
}

/** A planted record may have a time as text, or none: it is the oldest. */
const time = (value: unknown): number => Number(value) || 0;

export class FollowupTable extends RecordTable<Followup> {
  readonly #clock: () => number;
  /** Newest first; of those created in one millisecond the later stored one. undefined: something has changed. */
  #sorted: Followup[] | undefined;

  constructor(clock: () => number) {
    super('id');
    this.#clock = clock;
  }

  override set(key: string, record: Followup): this {
    this.#sorted = undefined;
    return super.set(key, record);
  }

  override delete(key: string): boolean {
    this.#sorted = undefined;
    return super.delete(key);
  }

  /** Newest first. */
  find(query: FollowupQuery): Followup[] {
    const { form_id, response_id, status = 'all', observer_id, assignee_id } = query;
    const { created_after = -Infinity, created_before = Infinity, updated_after, updated_before } = query;
    const today = toDateNumber(this.#clock());
    const hasStatus = ({ open, due }: { open?: unknown; due?: unknown }): boolean =>
      (open === true) === (status !== 'closed') &&
      (status !== 'overdue' || (typeof due === 'number' && due < today));
    // A filter that is not asked for costs nothing, however many records there are.
    const filters: readonly (false | ((one: Followup) => boolean))[] = [
      updated_before !== undefined && ((one) => time(one.updated_on) < updated_before),
      updated_after !== undefined && ((one) => time(one.updated_on) > updated_after),
      form_id !== undefined && ((one) => one.form_id === form_id),
      response_id !== undefined && ((one) => one.response_id === response_id),
      observer_id !== undefined && ((one) => isUser(one.m_observer_id, observer_id)),
      assignee_id !== undefined && ((one) => isUser(one.m_assignee_id, assignee_id)),
      status !== 'all' && hasStatus,
    ];
    const asked = filters.filter((filter) => filter !== false);
    this.#sorted ??= [...this.values()]
      .reverse()
      .sort((one, other) => time(other.created_on) - time(one.created_on));
    const first = countNewest(this.#sorted, (createdMs) => createdMs >= created_before);
    const end = countNewest(this.#sorted, (createdMs) => createdMs > created_after);
    const created = this.#sorted.slice(first, end);
    return asked.length === 0 ? created : created.filter((one) => asked.every((matches) => matches(one)));
  }
}

/** How many of a list, newest first, `isNewer` holds for: the first ones. */
function countNewest(list: readonly Followup[], isNewer: (createdMs: number) => boolean): number {
  let [from, to] = [0, list.length];
  while (from < to) {
    const middle = Math.floor((from + to) / 2);
    if (isNewer(time(list[middle]?.created_on))) from = middle + 1;
    else to = middle;
  }
  return from;
}

/** A planted record may have a number as an id. */
const isUser = (id: unknown, asked: string): boolean => String(id) === asked;
