/**
 * The temporary tables of one session: their rows are merged, or rolled back, with the transaction that contains them. And what a
 * run counts of the rows beside them.
 */
import { sql } from 'drizzle-orm';
import type { Connection, Queryable } from '../database/connection.ts';
import { isDataError } from '../database/database-error.ts';
import { toArrayLiteral } from '../database/array-literal.ts';
import { ISSUE_STAGE_COLUMNS } from './batch-issues.ts';
import { copyInto } from './copy-records.ts';
import { selectVanished } from './merge-sql.ts';
import {
  definitions,
  instantOf,
  isGone,
  keyColumn,
  name,
  timestampLiteral,
  type TransactionTime,
} from '../database/sql-names.ts';
import type { RunKey } from '../control-tables/control-tables.ts';
import type { StreamShape } from '../database/table-shape.ts';
import type { Coverage } from '../streams/stream.ts';

/** Number of the record. */
const ORD = { name: 'ord', type: 'bigint' };

/** Creates the tables; called once per load. */
export async function openStaging(db: Queryable, { parent, children }: StreamShape): Promise<void> {
  const tables = [
    ...[parent, ...children].map(({ stage, columns }) => ({ stage, columns: [ORD, ...columns] })),
    { stage: 'stage_issues', columns: ISSUE_STAGE_COLUMNS },
  ];
  for (const { stage, columns } of tables) {
    await db.execute(sql`create temporary table if not exists ${name(stage)} (${definitions(columns)})
      on commit delete rows`);
  }
  // What the run has seen stays seen. The cleaning before it, in the same session, records nothing.
  await db.execute(sql`create temporary table if not exists stage_seen (key text)`);
}

/** The error with which PostgreSQL refuses one of the values of this work, which is then undone; null: it is done. */
export async function refusalOf(connection: Connection, work: () => Promise<unknown>): Promise<unknown> {
  let refusal: unknown = null;
  try {
    // All at once: the first failure is the reason of those after it.
    await Promise.all([connection.query('savepoint work'), work()]);
  } catch (error) {
    if (!isDataError(error)) throw error;
    refusal = error;
    await connection.query('rollback to savepoint work');
  }
  await connection.query('release savepoint work');
  return refusal;
}

/** Records the keys of a batch as seen. */
export async function markSeen(connection: Connection, keys: readonly string[]): Promise<void> {
  await connection.query('insert into pg_temp.stage_seen select unnest($1::text[])', [toArrayLiteral(keys)]);
}

/** `lines`: in the format of COPY. */
export async function writeIssues(connection: Connection, lines: string): Promise<void> {
  if (lines === '') return;
  await connection.copy(copyInto('pg_temp.stage_issues', ISSUE_STAGE_COLUMNS), [lines]);
}

/** Removes the issues of a record that PostgreSQL has refused. */
export async function dropIssuesOf(connection: Connection, ord: number): Promise<void> {
  await connection.query('delete from pg_temp.stage_issues where of_row and ord = $1::bigint', [ord]);
}

/** Keys of the live rows in the coverage that were not marked as seen. */
export async function findVanished(
  db: Queryable,
  shape: StreamShape,
  { covered, accountId }: { readonly covered: Coverage; readonly accountId: string },
): Promise<Set<string>> {
  await db.execute(sql`analyze pg_temp.stage_seen`);
  const rows = await db.execute<{ key: string }>(selectVanished(shape, covered, accountId));
  return new Set(rows.map((row) => row.key));
}

/** Rows that the service still lists: live ones, and those that it sends as deleted; `keys`: only those of these records. */
export async function countListed(
  db: Queryable,
  { parent }: StreamShape,
  accountId: string,
  keys?: readonly (string | null)[],
): Promise<number> {
  const ofKeys = keys && sql`and t.${keyColumn(parent)} = any (${toArrayLiteral(keys)}::text[])`;
  const [row] = await db.execute<{ count: number }>(sql`select count(*)::int as count from ${parent.table} t
    where t.account_id = ${accountId} and not ${isGone(parent)} ${ofKeys ?? sql``}`);
  return row?.count ?? 0;
}

/** Live rows that this transaction wrote, and that the source had changed up to this time, in ms. */
export async function countWritten(
  db: Queryable,
  { stream, parent }: StreamShape,
  { accountId, runId, upToMs, ...time }: RunKey & TransactionTime & { readonly upToMs: number },
): Promise<number> {
  const [row] = await db.execute<{ count: number }>(sql`select count(*)::int as count from ${parent.table} t
    where t.account_id = ${accountId} and t._run_id = ${runId}::bigint and t._synced_at = ${instantOf(time)}
      and t._deleted_at is null and t.${name(stream.changeTimeColumn ?? '')} <= ${timestampLiteral(upToMs)}`);
  return row?.count ?? 0;
}

/** Removes all staged rows before the commit does. */
export async function clearStaging(db: Queryable, { parent, children }: StreamShape): Promise<void> {
  const tables = [parent, ...children].map(({ stage }) => `pg_temp.${stage}`);
  await db.execute(sql.raw(`truncate ${tables.join(', ')}`));
}
