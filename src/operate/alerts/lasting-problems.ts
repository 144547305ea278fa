/**
 * Reads problems that no later run corrects: fields that this version does not know, and changes that a reconcile had to
 * repair.
 */
import { sql } from 'drizzle-orm';
import type { Queryable } from '../../engine/database/connection.ts';
import { dataIssues, type StreamKey } from '../../engine/control-tables/control-tables.ts';
import { toArrayLiteral } from '../../engine/database/array-literal.ts';
import { newestRuns } from '../../engine/control-tables/runs.ts';

type NewField = StreamKey & { readonly field: string };
type Repaired = StreamKey & { readonly changes: number };

export interface LastingProblems {
  /** Each unknown field that the service sends, once. */
  readonly newFields: readonly NewField[];
  /** Streams with rows that the newest reconcile repaired. */
  readonly repaired: readonly Repaired[];
}

/** Bounds the list when a service keeps sending new field names. */
const MOST_FIELDS = 10_000;

export async function readLastingProblems(
  db: Queryable,
  accountIds: readonly string[],
): Promise<LastingProblems> {
  const accounts = toArrayLiteral(accountIds);
  const newFields = await db.execute<NewField & Record<string, unknown>>(sql`
    select account_id as "accountId", stream, field from ${dataIssues}
    where kind = 'unknown_field' and resolved_at is null and field is not null
      and account_id = any (${accounts}::text[]) order by account_id, stream, field limit ${MOST_FIELDS}`);
  const repaired = await db.execute<Repaired & Record<string, unknown>>(sql`
    select n.account_id as "accountId", n.stream, n.repaired::int as changes from (${newestRuns(sql`r.repaired`, sql`r.kind = 'reconcile' and r.repaired is not null`, accounts)}) n
    where n.repaired > 0`);
  return { newFields, repaired };
}
