/** Puts records that have open issues through again, from what is stored of them: after an upgrade they may come right. */
import { sql } from 'drizzle-orm';
import { equipmentAskedTypes } from '../streams/equipments.ts';
import type { ReadContext } from '../streams/stream.ts';
import { target } from '../database/sql-names.ts';
import { readIssues } from '../database/issues.ts';
import { tableShape } from '../database/table-shape.ts';
import type { Extract } from '../reading/extract.ts';

function toReadContext(context: unknown): ReadContext {
  return typeof context === 'object' && context !== null ? context : {};
}

/** What was too much to hold would be missing from the row. */
const isShortened = (context: unknown): boolean =>
  typeof context === 'object' && context !== null && 'isShortened' in context;

export const extractRetry: Extract = async ({ stream, loader, session, settings }) => {
  const { db } = session.connection;
  const scope = { accountId: settings.accountId, stream: stream.name };
  const open = await readIssues(db, {
    accountIds: [scope.accountId],
    stream: scope.stream,
    includeResolved: false,
  });
  for (const issue of open) {
    // A rejected record is held by its issue as a whole; a part of one (`messages[2]`) by the stored record.
    const isWhole = !isShortened(issue.context) && (issue.record_id === null || issue.field === null);
    if (issue.kind === 'record_rejected' && isWhole) {
      await loader.add([issue.value], toReadContext(issue.context));
    }
  }
  const { parent, keyColumn, reading } = stream;
  // The question that a row came from is known to the row: an issue may have gone over to it from another record.
  const context =
    reading.kind === 'snapshot' && reading.scope === 'equipment_type'
      ? sql`jsonb_build_object('equipmentTypeId', coalesce(
          (select a.asked_type_id from ${equipmentAskedTypes} a where a.account_id = t.account_id and a.equipment_id = t.id),
          t.equipment_type_id))`
      : sql`d.context`;
  const rows = await db.execute<{ _raw: unknown; context: unknown }>(sql`
    select distinct on (t.${sql.identifier(keyColumn)}) t._raw, ${context} as context
    from safety_sync.data_issues d join ${target(tableShape(parent))} t
      on t.account_id = d.account_id and t.${sql.identifier(keyColumn)} = d.record_id
    where d.account_id = ${scope.accountId} and d.stream = ${scope.stream} and d.resolved_at is null
      and t._deleted_at is null`);
  for (const row of rows) await loader.add([row._raw], toReadContext(row.context));
  return {
    outcome: 'read',
    covered: null,
    state: {},
    note: `put ${open.length} open data issues through again`,
    failure: null,
  };
};
