/** Computes the figures of messages that the loader would store, for rows that a test inserts by SQL. */
import type { Connection } from '../../src/engine/database/connection.ts';

export async function sumMessages({ query }: Pick<Connection, 'query'>): Promise<void> {
  await query(`update safety.followups f set _message_count = c.message_count, _reassignment_count = c.reassignment_count,
     _last_message_at = c.last_message_at, _first_response_at = c.first_response_at
   from (
     select o.account_id, o.id, count(*) as message_count, count(*) filter (where m.reassignee_id <> '') as reassignment_count,
       max(m.sent_at) as last_message_at, min(m.sent_at) filter (where m.user_id is distinct from o.observer_id) as first_response_at
     from safety.followups o join safety.followup_messages m on m.account_id = o.account_id and m.followup_id = o.id
     group by o.account_id, o.id
   ) c where c.account_id = f.account_id and f.id = c.id`);
}
