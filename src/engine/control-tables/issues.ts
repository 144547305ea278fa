/** Reads `safety_sync.data_issues`; the merge writes it. */
import { sql } from 'drizzle-orm';
import type { StreamName } from '../streams/stream.ts';
import type { Queryable } from '../database/connection.ts';
import { dataIssues } from './control-tables.ts';
import { toArrayLiteral } from '../database/array-literal.ts';

export type IssueRow = typeof dataIssues.$inferSelect;

/** Issues of one stream or of all; `includeResolved`: not only the open ones. */
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
