/** Reads records with open issues from their stored content, because an upgrade may resolve the issues. */
import { type SQL, sql } from 'drizzle-orm';
import type { Database } from '../database/connection.ts';
import { contextOf, keyColumn } from '../database/sql-names.ts';
import { tableShape } from '../database/table-shape.ts';
import { records, type Steps } from '../reading/step.ts';
import { formatNumber } from '../../shared/format.ts';
import { parseReceived, Received } from '../../shared/received.ts';
import type { ReadContext, StreamDefinition } from '../streams/stream.ts';

const isOpen = ({ name }: StreamDefinition, accountId: string): SQL =>
  sql`d.account_id = ${accountId} and d.stream = ${name} and d.resolved_at is null`;

/** The rejected records that are stored as a whole in their issue; an element of one (`messages[2]`) is in the stored record. */
const selectRejected = (stream: StreamDefinition, accountId: string): SQL => sql`
  select coalesce(d.value::text, 'null') as text, d.context from safety_sync.data_issues d
  where ${isOpen(stream, accountId)} and d.kind = 'record_rejected' and (d.record_id is null or d.field is null)`;

/** Returns their number. */
async function* readSelected(db: Database, query: SQL): Steps<number> {
  const selected = await db.execute<{ text: string; context: ReadContext | null }>(query);
  for (const { text, context } of selected)
    yield records([Received.of(parseReceived(text), text)], context ?? {});
  return selected.length;
}

/** Complete rejected records with a key: PostgreSQL refused them, for a reason that may be gone. */
export const readRefused = (db: Database, stream: StreamDefinition, accountId: string) =>
  readSelected(db, sql`${selectRejected(stream, accountId)} and d.record_id is not null`);

export async function* readStoredIssues(db: Database, stream: StreamDefinition, accountId: string): Steps {
  const parent = tableShape(stream.parent);
  // The request context comes from the row, because an issue may have moved to the row from another record.
  const { context, join } = contextOf(stream);
  // A rejected record is newer than its row, and is read after it.
  const count = yield* readSelected(
    db,
    sql`select t._raw::text as text, ${context} as context from ${parent.table} t ${join}
      where t.account_id = ${accountId} and t._deleted_at is null and exists (
        select from safety_sync.data_issues d where ${isOpen(stream, accountId)} and d.record_id = t.${keyColumn(parent)})
      union all ${selectRejected(stream, accountId)}`,
  );
  const note = `put ${formatNumber(count, 'stored record')} through again`;
  yield { kind: 'end', outcome: { kind: 'read', covered: null, note, failure: null } };
}
