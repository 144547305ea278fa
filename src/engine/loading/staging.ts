/** The temporary tables of one session: their rows are merged, or rolled back, with the transaction that contains them. */
import { sql } from 'drizzle-orm';
import type { Connection, Queryable } from '../database/connection.ts';
import { createDayStage } from '../history/followup-days.ts';
import { toArrayLiteral } from '../database/array-literal.ts';
import { ISSUE_STAGE_COLUMNS } from './batch-issues.ts';
import { selectVanished } from './merge-sql.ts';
import { definitions, name } from '../database/sql-names.ts';
import type { StreamShape } from '../database/table-shape.ts';
import type { Coverage } from '../streams/stream.ts';

/** Number of the record. */
const ORD = { name: 'ord', type: 'bigint' };

/** Creates the tables; called once per load. */
export async function openStaging(db: Queryable, { parent, children, stream }: StreamShape): Promise<void> {
  const tables = [
    ...[parent, ...children].map(({ stage, columns }) => ({ stage, columns: [ORD, ...columns] })),
    { stage: 'stage_seen', columns: [ORD, { name: 'key', type: 'text' }] },
    { stage: 'stage_issues', columns: ISSUE_STAGE_COLUMNS },
  ];
  for (const { stage, columns } of tables) {
    await db.execute(sql`create temporary table if not exists ${name(stage)} (${definitions(columns)})`);
  }
  if (stream.countsDays === true) await createDayStage(db);
}

/** Records the keys of a batch as seen, with numbers no greater than those of its records. */
export async function markSeen(
  connection: Connection,
  keys: readonly string[],
  firstOrd: number,
): Promise<void> {
  await connection.query(
    'insert into pg_temp.stage_seen select $1::bigint + ord, key from unnest($2::text[]) with ordinality as u (key, ord)',
    [firstOrd - 1, toArrayLiteral(keys)],
  );
}

/** `lines`: in the format of COPY. */
export async function writeIssues(connection: Connection, lines: readonly Buffer[]): Promise<void> {
  if (lines.length === 0) return;
  const columns = ISSUE_STAGE_COLUMNS.map(({ name }) => `"${name}"`).join(', ');
  await connection.copy(`copy pg_temp.stage_issues (${columns}) from stdin`, lines);
}

/** Removes the issues of rows that PostgreSQL has refused. */
export async function dropIssuesOf(connection: Connection, ords: readonly number[]): Promise<void> {
  await connection.query('delete from pg_temp.stage_issues where of_row and ord = any ($1::bigint[])', [
    toArrayLiteral(ords),
  ]);
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

/** Empties the tables. Part of the transaction with the merge. */
export async function clearStaging(db: Queryable, { parent, children }: StreamShape): Promise<void> {
  const tables = [...[parent, ...children].map(({ stage }) => stage), 'stage_seen', 'stage_issues'];
  await db.execute(sql.raw(`truncate ${tables.map((table) => `pg_temp."${table}"`).join(', ')}`));
}
