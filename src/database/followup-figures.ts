/** What the messages of a follow-up amount to, where it was stored before that was counted with it. */
import { sql } from 'drizzle-orm';
import { SECOND_MS } from '../shared/time.ts';
import type { Queryable } from './connection.ts';

/** Rows of a transaction. */
const STEP_ROWS = 2000;
/** The rest is for the stream's next run: somebody may wait for the lock. */
const MOST_MS = 10 * SECOND_MS;

/** Counts what is not counted yet, a bounded part at most; nothing else of the rows changes. Returns how many. */
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
