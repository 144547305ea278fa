/** Reads `safety_sync.data_issues`; the merge writes it. */
import { and, asc, eq, isNotNull, isNull, sql } from 'drizzle-orm';
import type { StreamName } from '../streams/stream.ts';
import type { Queryable } from './connection.ts';
import { dataIssues } from './control-tables.ts';
import type { IssueScope } from './issue-sql.ts';
import { textArray } from './sql-names.ts';

export type IssueRow = typeof dataIssues.$inferSelect;

/** What stays the same of the records that are rejected for want of a key, to recognize them when they come right. */
export async function readOpenIdentities(
  db: Queryable,
  { accountId, stream }: IssueScope,
): Promise<Set<string>> {
  const rows = await db
    .selectDistinct({ identity: dataIssues.identity })
    .from(dataIssues)
    .where(
      and(
        eq(dataIssues.account_id, accountId),
        eq(dataIssues.stream, stream),
        isNull(dataIssues.resolved_at),
        isNotNull(dataIssues.identity),
      ),
    );
  return new Set(rows.flatMap(({ identity }) => (identity === null ? [] : [identity])));
}

export interface IssueFilter {
  readonly accountIds: readonly string[];
  readonly stream?: StreamName | undefined;
  /** Also those that have come right. */
  readonly includeResolved: boolean;
}

export async function readIssues(db: Queryable, filter: IssueFilter): Promise<IssueRow[]> {
  return await db
    .select()
    .from(dataIssues)
    .where(
      and(
        sql`${dataIssues.account_id} = any (${textArray(filter.accountIds)}::text[])`,
        filter.stream === undefined ? undefined : eq(dataIssues.stream, filter.stream),
        filter.includeResolved ? undefined : isNull(dataIssues.resolved_at),
      ),
    )
    .orderBy(
      asc(dataIssues.account_id),
      asc(dataIssues.stream),
      asc(dataIssues.kind),
      asc(dataIssues.field),
      asc(dataIssues.record_id),
    );
}
