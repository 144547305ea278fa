/** Differences between states of follow-ups that were changed in place. */
import { sql } from 'drizzle-orm';
import type { Queryable } from '../database/connection.ts';
import { syncedAtOf, type WriteTime } from '../database/sql-names.ts';

/**
 * Compares each state with the one before it, after a cleaning changed states in place. Correct rows are not
 * written.
 */
export async function compareStates(
  db: Queryable,
  account: string,
  time: Pick<WriteTime, 'syncedAt'>,
): Promise<void> {
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
      _due_changes = p.due_changes, _reopen_count = p.reopen_count, _first_due = p.first_due,
      _synced_at = ${syncedAtOf(time)}
    from (
      select l.account_id, l.id, l.is_open as was_open, l.due_on as due_before, o.due_on is distinct from l.due_on as due_moved,
        l.due_changes + (o.due_on is distinct from l.due_on)::int as due_changes,
        l.reopen_count + (o.is_open is true and l.is_open is false)::int as reopen_count, l.first_due
      from (
        select b.account_id, b.id, (array_agg(b.is_open order by b.valid_from desc))[1] as is_open,
          (array_agg(b.due_on order by b.valid_from desc))[1] as due_on, (array_agg(b.due_on order by b.valid_from))[1] as first_due,
          count(*) filter (where b._due_moved) as due_changes,
          count(*) filter (where b.is_open and not b._was_open) as reopen_count
        from safety.followup_states b where b.account_id = ${account} group by b.account_id, b.id
      ) l join safety.followups o on o.account_id = l.account_id and o.id = l.id
    ) p
    where f.account_id = ${account} and p.account_id = f.account_id and p.id = f.id
      and (f._was_open, f._due_moved, f._due_before, f._due_changes, f._reopen_count, f._first_due)
        is distinct from (p.was_open, p.due_moved, p.due_before, p.due_changes, p.reopen_count, p.first_due)`);
}
