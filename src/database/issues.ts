/** Reads `safety_sync.data_issues`; the merge writes it. */
import { and, asc, eq, isNotNull, isNull, or, sql } from 'drizzle-orm';
import type { StreamName } from '../streams/stream.ts';
import type { Queryable } from './connection.ts';
import { dataIssues } from './control-tables.ts';
import { toArrayLiteral } from './copy-text.ts';

export interface IssueScope {
  readonly accountId: string;
  readonly stream: StreamName;
}

export type IssueRow = typeof dataIssues.$inferSelect;

/** Open issues about records that could not be rows: what tells that such a record has come right. */
export interface OpenRejections {
  /** What stays the same of records without a usable key. */
  readonly identities: ReadonlySet<string>;
  /** Keys of records that were refused for something else. */
  readonly keys: ReadonlySet<string>;
}

export async function readOpenRejections(
  db: Queryable,
  { accountId, stream }: IssueScope,
): Promise<OpenRejections> {
  const rows = await db
    .selectDistinct({ identity: dataIssues.identity, key: dataIssues.record_id })
    .from(dataIssues)
    .where(
      and(
        eq(dataIssues.account_id, accountId),
        eq(dataIssues.stream, stream),
        isNull(dataIssues.resolved_at),
        or(
          isNotNull(dataIssues.identity),
          and(
            eq(dataIssues.kind, 'record_rejected'),
            isNotNull(dataIssues.record_id),
            isNull(dataIssues.field),
          ),
        ),
      ),
    );
  return {
    identities: new Set(rows.flatMap(({ identity }) => identity ?? [])),
    keys: new Set(rows.flatMap(({ key }) => key ?? [])),
  };
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
        sql`${dataIssues.account_id} = any (${toArrayLiteral(filter.accountIds)}::text[])`,
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
