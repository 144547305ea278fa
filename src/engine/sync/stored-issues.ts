/** Reads records with open issues from their stored content, because an upgrade may resolve the issues. */
import { sql } from 'drizzle-orm';
import type { Database } from '../database/connection.ts';
import { contextOf, keyColumn } from '../database/sql-names.ts';
import { tableShape } from '../database/table-shape.ts';
import { records, type Steps } from '../reading/step.ts';
import { parseReceived, Received } from '../../shared/received.ts';
import type { ReadContext, StreamDefinition } from '../streams/stream.ts';

const toStep = (text: string, context: ReadContext | null) =>
  records([Received.of(parseReceived(text), text)], context ?? {});

/** The rejected records that are stored as a whole in their issue; an element of one (`messages[2]`) is in the stored record. */
async function readRejected(db: Database, stream: StreamDefinition, accountId: string) {
  const open = await db.execute<{
    key: string | null;
    text: string;
    context: ReadContext | null;
    is_whole: boolean;
  }>(sql`
    select record_id as key, coalesce(value::text, 'null') as text, context, kind = 'record_rejected'
      and (record_id is null or field is null) as is_whole
    from safety_sync.data_issues
    where account_id = ${accountId} and stream = ${stream.name} and resolved_at is null order by kind, field, record_id`);
  return { count: open.length, rejected: open.filter((one) => one.is_whole) };
}

/** Complete rejected records with a key: PostgreSQL refused them, for a reason that may be gone. */
export async function* readRefused(db: Database, stream: StreamDefinition, accountId: string) {
  const { rejected } = await readRejected(db, stream, accountId);
  for (const { key, text, context } of rejected) if (key !== null) yield toStep(text, context);
}

export async function* readStoredIssues(db: Database, stream: StreamDefinition, accountId: string): Steps {
  const { count, rejected } = await readRejected(db, stream, accountId);
  const parent = tableShape(stream.parent);
  // The request context comes from the row, because an issue may have moved to the row from another record.
  const { context: contextOfRow, join } = contextOf(stream);
  const key = keyColumn(parent);
  const rows = await db.execute<{ text: string; context: ReadContext }>(sql`
    select distinct on (t.${key}) t._raw::text as text, ${contextOfRow} as context
    from safety_sync.data_issues d join ${parent.table} t
      on t.account_id = d.account_id and t.${key} = d.record_id ${join}
    where d.account_id = ${accountId} and d.stream = ${stream.name} and d.resolved_at is null
      and t._deleted_at is null`);
  for (const { text, context } of [...rejected, ...rows]) yield toStep(text, context);
  const note = `put ${count} open data issues through again`;
  yield { kind: 'end', outcome: { kind: 'read', covered: null, note, failure: null } };
}
