/** Reads records with open issues from their stored content, because an upgrade may resolve the issues. */
import { sql } from 'drizzle-orm';
import type { Database } from '../database/connection.ts';
import { readIssues } from '../control-tables/issues.ts';
import { target } from '../database/sql-names.ts';
import { askedTypeOf } from '../database/stored-record.ts';
import { tableShape } from '../database/table-shape.ts';
import { records, type Steps } from '../reading/step.ts';
import { Received } from '../../shared/received.ts';
import type { ReadContext, StreamDefinition } from '../streams/stream.ts';

function toReadContext(context: unknown): ReadContext {
  return typeof context === 'object' && context !== null ? context : {};
}

export async function* readStoredIssues(db: Database, stream: StreamDefinition, accountId: string): Steps {
  const { name, parent, keyColumn, partition } = stream;
  const open = await readIssues(db, { accountIds: [accountId], stream: name, includeResolved: false });
  // The request context comes from the row, because an issue may have moved to the row from another record.
  const contextOfRow =
    partition === undefined
      ? sql`d.context`
      : sql`jsonb_build_object('equipmentTypeId', ${askedTypeOf(stream)})`;
  const rows = await db.execute<{ _raw: unknown; context: unknown }>(sql`
    select distinct on (t.${sql.identifier(keyColumn)}) t._raw, ${contextOfRow} as context
    from safety_sync.data_issues d join ${target(tableShape(parent))} t
      on t.account_id = d.account_id and t.${sql.identifier(keyColumn)} = d.record_id
    where d.account_id = ${accountId} and d.stream = ${name} and d.resolved_at is null
      and t._deleted_at is null`);
  for (const issue of open) {
    const context = toReadContext(issue.context);
    // The omitted part of a shortened value would be missing from the row.
    const isShortened = 'isShortened' in context;
    // A rejected record is stored as a whole in its issue; a part of a record (`messages[2]`) in the stored record.
    const isWhole = !isShortened && (issue.record_id === null || issue.field === null);
    if (issue.kind === 'record_rejected' && isWhole) yield records([Received.of(issue.value)], context);
  }
  for (const row of rows) yield records([Received.of(row._raw)], toReadContext(row.context));
  const note = `put ${open.length} open data issues through again`;
  yield { kind: 'end', outcome: { kind: 'read', covered: null, note, failure: null } };
}
