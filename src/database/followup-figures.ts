/** What messages and states of follow-ups amount to, where it is not written with the row itself. */
import { sql } from 'drizzle-orm';
import { SECOND_MS } from '../shared/time.ts';
import type { Queryable } from './connection.ts';

/** Rows of a transaction. */
const STEP_ROWS = 2000;
/** The rest is for the stream's next run: somebody may wait for the lock. */
const MOST_MS = 10 * SECOND_MS;

/** Messages, of follow-ups that were stored before they were counted with them. Counts what is not counted yet, a bounded part at most; nothing else of the rows changes. Returns how many. */
export async function countMessages(
  db: Queryable,
  account: string,
  { signal, monotonicMs }: { readonly signal: AbortSignal; readonly monotonicMs: () => number },
): Promise<number> {
  const endMs = monotonicMs() + MOST_MS;
  let counted = 0;
  for (
    let last = STEP_ROWS;
    last === STEP_ROWS && !signal.aborted && monotonicMs() < endMs;
    counted += last
  ) {
    const { count } = await db.execute(sql`
      update safety.followups f set _message_count = c.message_count, _reassignment_count = c.reassignment_count,
        _last_message_at = c.last_message_at, _first_response_at = c.first_response_at
      from (
        select o.account_id, o.id, count(m.id) as message_count, count(*) filter (where m.reassignee_id <> '') as reassignment_count,
          max(m.sent_at) as last_message_at, min(m.sent_at) filter (where m.user_id is distinct from o.observer_id) as first_response_at
        from (
          select b.account_id, b.id, b.observer_id from safety.followups b
          where b.account_id = ${account} and b._message_count is null limit ${STEP_ROWS}::int
        ) o
        left join safety.followup_messages m on m.account_id = o.account_id and m.followup_id = o.id
        group by o.account_id, o.id
      ) c
      where f.account_id = ${account} and c.account_id = f.account_id and f.id = c.id`);
    last = count;
  }
  return counted;
}

/**
 * How each state differs from the one before it, where states were changed in place, by a cleaning. What is as it should
 * be is not written.
 */
export async function compareStates(db: Queryable, account: string): Promise<void> {
  await db.execute(sql`
    update safety.followup_states s set _was_open = p.was_open, _due_moved = p.due_moved, _due_before = p.due_before
    from (
      select b.account_id, b.id, b.valid_from, lag(b.is_open) over w as was_open, lag(b.due_on) over w as due_before,
        row_number() over w > 1 and b.due_on is distinct from lag(b.due_on) over w as due_moved
      from safety.followup_states b where b.account_id = ${account}
      window w as (partition by b.account_id, b.id order by b.valid_from)
    ) p
    where s.account_id = ${account} and p.account_id = s.account_id and p.id = s.id and p.valid_from = s.valid_from
      and (s._was_open, s._due_moved, s._due_before) is distinct from (p.was_open, p.due_moved, p.due_before)`);
  await db.execute(sql`
    update safety.followups f set _was_open = p.was_open, _due_moved = p.due_moved, _due_before = p.due_before,
      _due_changes = p.due_changes, _reopen_count = p.reopen_count
    from (
      select l.account_id, l.id, l.is_open as was_open, l.due_on as due_before, o.due_on is distinct from l.due_on as due_moved,
        l.due_changes + (o.due_on is distinct from l.due_on)::int as due_changes,
        l.reopen_count + (o.is_open is true and l.is_open is false)::int as reopen_count
      from (
        select b.account_id, b.id, (array_agg(b.is_open order by b.valid_from desc))[1] as is_open,
          (array_agg(b.due_on order by b.valid_from desc))[1] as due_on, count(*) filter (where b._due_moved) as due_changes,
          count(*) filter (where b.is_open and not b._was_open) as reopen_count
        from safety.followup_states b where b.account_id = ${account} group by b.account_id, b.id
      ) l join safety.followups o on o.account_id = l.account_id and o.id = l.id
    ) p
    where f.account_id = ${account} and p.account_id = f.account_id and p.id = f.id
      and (f._was_open, f._due_moved, f._due_before, f._due_changes, f._reopen_count)
        is distinct from (p.was_open, p.due_moved, p.due_before, p.due_changes, p.reopen_count)`);
}
