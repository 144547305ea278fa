/** Reads `safety_sync.data_issues`; the merge writes it. */
import { and, eq, isNull, sql } from 'drizzle-orm';
import type { StreamName } from '../streams/stream.ts';
import type { Queryable } from '../database/connection.ts';
import { dataIssues, type StreamKey } from './control-tables.ts';
import { toArrayLiteral } from '../database/array-literal.ts';

export type IssueRow = typeof dataIssues.$inferSelect;

/** Open issues, which the loader needs to find records that have become valid. */
export interface OpenIssues {
  readonly areAny: boolean;
  /** Keys of rejected records that have a usable key. */
  readonly keys: ReadonlySet<string>;
}

export async function readOpenIssues(db: Queryable, { accountId, stream }: StreamKey): Promise<OpenIssues> {
  const rows = await db.execute<{ key: string | null }>(sql`
    select distinct case when kind = 'record_rejected' and field is null then record_id end as key
    from ${dataIssues} where account_id = ${accountId} and stream = ${stream} and resolved_at is null`);
  return { areAny: rows.length > 0, keys: new Set(rows.flatMap(({ key }) => key ?? [])) };
}

interface IssueFilter {
  readonly accountIds: readonly string[];
  readonly stream?: StreamName | undefined;
  /** True: resolved issues are returned as well. */
  readonly includeResolved: boolean;
}

export async function readIssues(db: Queryable, filter: IssueFilter): Promise<IssueRow[]> {
  const { account_id, stream, kind, field, record_id, resolved_at } = dataIssues;
  return await db
    .select()
    .from(dataIssues)
    .where(
      and(
        sql`${account_id} = any (${toArrayLiteral(filter.accountIds)}::text[])`,
        filter.stream === undefined ? undefined : eq(stream, filter.stream),
        filter.includeResolved ? undefined : isNull(resolved_at),
      ),
    )
    .orderBy(account_id, stream, kind, field, record_id);
}
