/** The temporary tables of one session: their rows are merged, or rolled back, with the transaction that contains them. */
import { sql } from 'drizzle-orm';
import type { Queryable } from '../database/connection.ts';
import { createDayStage } from '../history/followup-days.ts';
import { toArrayLiteral } from '../database/array-literal.ts';
import { toCopyText } from './copy-text.ts';
import type { StreamSession } from '../control-tables/stream-session.ts';
import type { Row } from '../streams/stream.ts';
import { createIssueStage, ISSUE_STAGE_COLUMNS } from './issue-sql.ts';
import type { StagedIssue } from './staged-issue.ts';
import { createStage, readVanished } from './merge-sql.ts';
import type { TableCoverage, StreamShape } from '../database/table-shape.ts';

export interface Staging {
  /** Creates the tables; call once per session. */
  open(): Promise<void>;
  /** Records the keys of a batch as seen, with numbers no greater than those of its records. */
  markSeen(keys: readonly string[], firstOrd: number): Promise<void>;
  writeIssues(issues: readonly StagedIssue[]): Promise<void>;
  /** Keys of the live rows in the coverage that were not marked as seen. */
  findVanished(covered: TableCoverage): Promise<Set<string>>;
  /** Empties the tables. Part of the transaction with the merge. */
  clear(db: Queryable): Promise<void>;
}

export function createStaging(
  { connection }: StreamSession,
  { parent, children, stream }: StreamShape,
  accountId: string,
): Staging {
  const tables = [...[parent, ...children].map(({ stage }) => stage), 'stage_seen', 'stage_issues'];
  const issueColumns = ISSUE_STAGE_COLUMNS.map(({ name }) => `"${name}"`).join(', ');
  return {
    async open() {
      const { db } = connection;
      for (const table of [parent, ...children]) await db.execute(createStage(table));
      await db.execute(sql`create temporary table if not exists stage_seen (ord bigint, key text)`);
      await db.execute(createIssueStage());
      if (stream.countsDays === true) await createDayStage(db);
    },
    async markSeen(keys, firstOrd) {
      await connection.query(
        'insert into pg_temp.stage_seen select $1::bigint + ord, key from unnest($2::text[]) with ordinality as u (key, ord)',
        [firstOrd - 1, toArrayLiteral(keys)],
      );
    },
    async writeIssues(issues) {
      if (issues.length === 0) return;
      const rows = issues as readonly (StagedIssue & Row)[];
      await connection.copy(
        `copy pg_temp.stage_issues (${issueColumns}) from stdin`,
        toCopyText(ISSUE_STAGE_COLUMNS, rows),
      );
    },
    async findVanished(covered) {
      await connection.db.execute(sql`analyze pg_temp.stage_seen`);
      const rows = await connection.db.execute<{ key: string }>(readVanished(parent, covered, accountId));
      return new Set(rows.map((row) => row.key));
    },
    async clear(db) {
      await db.execute(sql.raw(`truncate ${tables.map((table) => `pg_temp."${table}"`).join(', ')}`));
    },
  };
}
