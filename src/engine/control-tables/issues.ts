/** Reads `safety_sync.data_issues`; the merge writes it. */
import { sql } from 'drizzle-orm';
import type { StreamName } from '../streams/stream.ts';
import type { Queryable } from '../database/connection.ts';
import { dataIssues, isOf, type StreamKey } from './control-tables.ts';
import { toArrayLiteral } from '../database/array-literal.ts';

export type IssueRow = typeof dataIssues.$inferSelect;

export type OpenIssues = Awaited<ReturnType<typeof readOpenIssues>>;

/**
 * Open issues, which the loader needs to find records that have become valid. `keys`: of rejected records that have a usable
 * key.
 */
export async function readOpenIssues(db: Queryable, key: StreamKey) {
  const rows = await db.execute<{ key: string | null }>(sql`
    select distinct case when kind = 'record_rejected' and field is null then record_id end as key
    from ${dataIssues} where ${isOf(key)} and resolved_at is null`);
  return { areAny: rows.length > 0, keys: new Set(rows.flatMap(({ key: id }) => id ?? [])) };
}

/** Of one stream or of all; `includeResolved`: not only the open ones. */
export async function readIssues(
  db: Queryable,
  accountIds: readonly string[],
  { stream, includeResolved }: { readonly stream?: StreamName; readonly includeResolved: boolean },
): Promise<IssueRow[]> {
  return await db
    .select()
    .from(dataIssues)
    .where(
      sql`account_id = any (${toArrayLiteral(accountIds)}::text[]) and stream = coalesce(${stream ?? null}, stream)
        and (${includeResolved} or resolved_at is null)`,
    )
    .orderBy(sql`account_id, stream, kind, field, record_id`);
}
