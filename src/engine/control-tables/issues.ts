/** Reads `safety_sync.data_issues`; the merge writes it. */
import { sql } from 'drizzle-orm';
import type { Queryable } from '../database/connection.ts';
import { dataIssues } from './control-tables.ts';
import { toArrayLiteral } from '../database/array-literal.ts';

export type IssueRow = typeof dataIssues.$inferSelect;

/** `includeResolved`: not only the open ones. */
export async function readIssues(db: Queryable, accountIds: readonly string[], includeResolved: boolean) {
  return await db
    .select()
    .from(dataIssues)
    .where(
      sql`account_id = any (${toArrayLiteral(accountIds)}::text[]) and (${includeResolved} or resolved_at is null)`,
    )
    .orderBy(sql`account_id, stream, kind, field, record_id`);
}
