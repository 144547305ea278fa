/** Reads records with open issues from their stored content, because an upgrade may resolve the issues. */
import { sql } from 'drizzle-orm';
import type { Database } from '../database/connection.ts';
import { readIssues } from '../control-tables/issues.ts';
import { keyColumn, partitionOf, target } from '../database/sql-names.ts';
import { tableShape } from '../database/table-shape.ts';
import { records, type Steps } from '../reading/step.ts';
import { Received } from '../../shared/received.ts';
import type { ReadContext, StreamDefinition } from '../streams/stream.ts';

function toReadContext(context: unknown): ReadContext {
  return typeof context === 'object' && context !== null ? context : {};
}

/** The omitted end of a shortened value would be missing from the row. */
const isShortened = (context: unknown): boolean => 'isShortened' in toReadContext(context);

/** Complete rejected records with a key: PostgreSQL refused them, for a reason that may be gone. */
export async function* readRefused(db: Database, stream: StreamDefinition, accountId: string) {
  const open = await readIssues(db, [accountId], { stream: stream.name, includeResolved: false });
  for (const { kind, record_id: key, field, value, context } of open)
    if (kind === 'record_rejected' && key !== null && field === null && !isShortened(context))
      yield records([Received.of(value)], toReadContext(context));
}

export async function* readStoredIssues(db: Database, stream: StreamDefinition, accountId: string): Steps {
  const open = await readIssues(db, [accountId], { stream: stream.name, includeResolved: false });
  const parent = tableShape(stream.parent);
  const { partition, join } = partitionOf(stream);
  const key = keyColumn(parent);
  // The request context comes from the row, because an issue may have moved to the row from another record.
  const calculatedAt = sql`floor(extract(epoch from t.calculated_at) * 1000)`;
  const contextOfRow = sql`jsonb_strip_nulls(jsonb_build_object('equipmentTypeId', ${partition},
    'calculatedAtMs', ${stream.readMode.kind === 'cached_list' ? calculatedAt : sql`null`}))`;
  const rows = await db.execute<{ _raw: unknown; context: unknown }>(sql`
    select distinct on (t.${key}) t._raw, ${contextOfRow} as context
    from safety_sync.data_issues d join ${target(parent)} t
      on t.account_id = d.account_id and t.${key} = d.record_id ${join}
    where d.account_id = ${accountId} and d.stream = ${stream.name} and d.resolved_at is null
      and t._deleted_at is null`);
  for (const issue of open) {
    const context = toReadContext(issue.context);
    // A rejected record is stored as a whole in its issue; an element of one (`messages[2]`) in the stored record.
    const isWhole = !isShortened(context) && (issue.record_id === null || issue.field === null);
    if (issue.kind === 'record_rejected' && isWhole) yield records([Received.of(issue.value)], context);
  }
  for (const row of rows) yield records([Received.of(row._raw)], toReadContext(row.context));
  const note = `put ${open.length} open data issues through again`;
  yield { kind: 'end', outcome: { kind: 'read', covered: null, note, failure: null } };
}
