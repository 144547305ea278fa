/** Reads records with open issues from their stored content, because an upgrade may resolve the issues. */
import { sql } from 'drizzle-orm';
import type { Database } from '../database/connection.ts';
import { readIssues } from '../control-tables/issues.ts';
import { contextOf, keyColumn, target } from '../database/sql-names.ts';
import { tableShape } from '../database/table-shape.ts';
import { records, type Steps } from '../reading/step.ts';
import { Received } from '../../shared/received.ts';
import type { ReadContext, StreamDefinition } from '../streams/stream.ts';

const toStep = (value: unknown, context: unknown) =>
  records([Received.of(value)], typeof context === 'object' && context !== null ? context : {});

/** The rejected records that are stored as a whole in their issue; an element of one (`messages[2]`) is in the stored record. */
async function readRejected(db: Database, stream: StreamDefinition, accountId: string) {
  const open = await readIssues(db, [accountId], { stream: stream.name, includeResolved: false });
  const isWhole = ({ kind, record_id: key, field, context }: (typeof open)[number]): boolean =>
    kind === 'record_rejected' &&
    (key === null || field === null) &&
    // The omitted end of a shortened value would be missing from the row.
    !(typeof context === 'object' && context !== null && 'isShortened' in context);
  return { count: open.length, rejected: open.filter(isWhole) };
}

/** Complete rejected records with a key: PostgreSQL refused them, for a reason that may be gone. */
export async function* readRefused(db: Database, stream: StreamDefinition, accountId: string) {
  const { rejected } = await readRejected(db, stream, accountId);
  for (const { record_id: key, value, context } of rejected) if (key !== null) yield toStep(value, context);
}

export async function* readStoredIssues(db: Database, stream: StreamDefinition, accountId: string): Steps {
  const { count, rejected } = await readRejected(db, stream, accountId);
  const parent = tableShape(stream.parent);
  // The request context comes from the row, because an issue may have moved to the row from another record.
  const { context: contextOfRow, join } = contextOf(stream);
  const key = keyColumn(parent);
  const rows = await db.execute<{ _raw: unknown; context: ReadContext }>(sql`
    select distinct on (t.${key}) t._raw, ${contextOfRow} as context
    from safety_sync.data_issues d join ${target(parent)} t
      on t.account_id = d.account_id and t.${key} = d.record_id ${join}
    where d.account_id = ${accountId} and d.stream = ${stream.name} and d.resolved_at is null
      and t._deleted_at is null`);
  for (const { value, context } of rejected) yield toStep(value, context);
  for (const { _raw, context } of rows) yield toStep(_raw, context);
  const note = `put ${count} open data issues through again`;
  yield { kind: 'end', outcome: { kind: 'read', covered: null, note, failure: null } };
}
