/** Follow-ups with random histories, inserted directly, because a live source would take too long to create them. */
import type { SeededRandom } from './seeded-random.ts';

const DAY_MS = 86_400_000;

/** Times in ms since 1970, days as YYYY-MM-DD. */
export interface PastState {
  readonly isOpen: boolean | null;
  readonly due: string | null;
  readonly assignee: string | null;
  readonly form: string | null;
  readonly resolved: number | null;
  readonly completer: string | null;
  readonly from: number;
}

interface PastMessage {
  readonly sent: number;
  readonly user: string | null;
  readonly reassignee: string | null;
}

export interface PastFollowup {
  readonly id: string;
  readonly created: number;
  readonly observer: string | null;
  /** The last one is the present row. */
  readonly states: readonly PastState[];
  readonly deleted: number | null;
  readonly messages: readonly PastMessage[];
}

const PEOPLE = ['p1', 'p2', 'p3', null] as const;
const FORMS = ['11', '12', null] as const;

interface PastOptions {
  readonly random: SeededRandom;
  readonly nowMs: number;
  readonly days: number;
}

/** A time in the last `days` days, at least an hour ago. */
function between(fromMs: number, { random, nowMs }: PastOptions): number {
  const span = Math.max(1, nowMs - 3_600_000 - fromMs);
  return fromMs + random.below(span);
}

export function randomFollowup(id: string, options: PastOptions): PastFollowup {
  const { random, nowMs, days } = options;
  const created = between(nowMs - days * DAY_MS, options);
  const dayAfter = (ms: number) => new Date(ms + random.below(30) * DAY_MS).toISOString().slice(0, 10);
  const times = Array.from({ length: random.below(4) }, () => between(created, options));
  // No two states have one start.
  const froms = [...new Set([created, ...times])].toSorted((a, b) => a - b);
  let due = random.below(3) === 0 ? null : dayAfter(created);
  let assignee: string | null = random.pick(PEOPLE);
  let form: string | null = random.pick(FORMS);
  const states = froms.map((from): PastState => {
    if (random.below(3) === 0) due = random.below(4) === 0 ? null : dayAfter(from);
    if (random.below(3) === 0) assignee = random.pick(PEOPLE);
    if (random.below(9) === 0) form = random.pick(FORMS);
    const isOpen = random.below(12) === 0 ? null : random.below(2) === 0;
    // Closed some time before it was observed, or without a time; reopened follow-ups may keep their completion.
    const hasTime = isOpen === false ? random.below(5) > 0 : random.below(4) === 0;
    const resolved = hasTime ? from - random.below(2) * random.below(3 * DAY_MS) : null;
    const completer = isOpen === false ? random.pick(PEOPLE) : null;
    return { isOpen, due, assignee, form, resolved, completer, from };
  });
  const messages = Array.from({ length: random.below(4) }, () => ({
    sent: between(created, options),
    user: random.pick(PEOPLE),
    reassignee: random.below(2) === 0 ? random.pick(PEOPLE) : null,
  })).toSorted((a, b) => a.sent - b.sent);
  const last = froms.at(-1) ?? created;
  return {
    id,
    created,
    observer: random.pick(PEOPLE),
    states,
    messages,
    deleted: random.below(8) === 0 ? between(last + 1, options) : null,
  };
}

const text = (value: string | null): string => (value === null ? 'null' : `'${value}'`);
const time = (ms: number | null): string => (ms === null ? 'null' : `'${new Date(ms).toISOString()}'`);

/** Statements that replace the stored rows of its id. */
export function storePast(account: string, followup: PastFollowup): string[] {
  const { id, created, observer, states, deleted, messages } = followup;
  const key = `account_id = '${account}' and`;
  const columns =
    'account_id, id, form_id, is_open, created_at, updated_at, observer_id, assignee_id, due_on, resolved_at, completer_id';
  const values = (state: PastState) =>
    `'${account}', '${id}', ${text(state.form)}, ${String(state.isOpen)}, ${time(created)}, ${time(state.from)}, ${text(observer)},
     ${text(state.assignee)}, ${text(state.due)}, ${time(state.resolved)}, ${text(state.completer)}`;
  const present = states.at(-1);
  if (present === undefined) throw new RangeError('a follow-up has at least one state');
  return [
    `delete from safety.followup_states where ${key} id = '${id}'`,
    `delete from safety.followup_messages where ${key} followup_id = '${id}'`,
    `delete from safety.followups where ${key} id = '${id}'`,
    `insert into safety.followups (${columns}, _valid_from, _synced_at, _deleted_at, _run_id)
     values (${values(present)}, ${time(present.from)}, ${time(present.from)}, ${time(deleted)}, 1)`,
    ...states.slice(0, -1).map(
      (state, index) =>
        `insert into safety.followup_states (${columns}, valid_from, valid_to)
           values (${values(state)}, ${time(state.from)}, ${time(states[index + 1]?.from ?? null)})`,
    ),
    ...messages.map(
      ({ sent, user, reassignee }, index) =>
        `insert into safety.followup_messages (account_id, followup_id, id, position, sent_at, user_id, reassignee_id)
         values ('${account}', '${id}', '${index}', ${index + 1}, ${time(sent)}, ${text(user)}, ${text(reassignee)})`,
    ),
  ];
}
