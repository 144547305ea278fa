/** Computes the figures of follow-ups that the loader would store, for rows that a test inserts by SQL. */
import type { Connection } from '../../src/engine/database/connection.ts';
import { compareStates } from '../../src/engine/history/compare-states.ts';

const OF_MESSAGES = [
  `update safety.followup_messages c set _handed_before = p.handed_before
   from (
     select h.account_id, h.followup_id, h.id,
       lag(h.reassignee_id) over (partition by h.account_id, h.followup_id order by h.position) as handed_before
     from safety.followup_messages h where h.reassignee_id <> ''
   ) p where p.account_id = c.account_id and p.followup_id = c.followup_id and p.id = c.id and p.handed_before is not null`,
  `update safety.followups f set _message_count = c.message_count, _reassignment_count = c.reassignment_count,
     _last_message_at = c.last_message_at, _first_response_at = c.first_response_at
   from (
     select o.account_id, o.id, count(*) as message_count, count(*) filter (where m.reassignee_id <> '') as reassignment_count,
       max(m.sent_at) as last_message_at, min(m.sent_at) filter (where m.user_id is distinct from o.observer_id) as first_response_at
     from safety.followups o join safety.followup_messages m on m.account_id = o.account_id and m.followup_id = o.id
     group by o.account_id, o.id
   ) c where c.account_id = f.account_id and f.id = c.id`,
];

export async function fillDifferences(connection: Pick<Connection, 'db' | 'query'>): Promise<void> {
  for (const update of OF_MESSAGES) await connection.query(update);
  const accounts = await connection.query<{ account_id: string }>(
    'select distinct account_id from safety.followups',
  );
  for (const { account_id: account } of accounts) {
    await compareStates(connection.db, account, { syncedAt: 'now' });
  }
}
