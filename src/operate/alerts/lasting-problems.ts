/**
 * Reads problems that no later run corrects: fields that this version does not know, and changes that a reconcile had to
 * repair.
 */
import { sql } from 'drizzle-orm';
import type { Queryable } from '../../engine/database/connection.ts';
import { dataIssues } from '../../engine/control-tables/control-tables.ts';
import { toArrayLiteral } from '../../engine/database/array-literal.ts';
import { newestRuns } from '../../engine/control-tables/runs.ts';
import { formatNumber } from '../../shared/format.ts';
import type { Condition } from './conditions.ts';

/** Bounds the list when a service keeps sending new field names. */
const MOST_FIELDS = 10_000;

interface LastingProblem extends Pick<Condition, 'accountId' | 'event' | 'subject'>, Record<string, unknown> {
  /** Repaired changes; null for a new field. */
  readonly changes: number | null;
}

export async function readLastingProblems(
  db: Queryable,
  accountIds: readonly string[],
): Promise<Condition[]> {
  const accounts = toArrayLiteral(accountIds);
  const newFields = await db.execute<LastingProblem>(sql`
    select account_id as "accountId", 'new_field' as event, stream || ' ' || field as subject, null as changes
    from ${dataIssues} where kind = 'unknown_field' and resolved_at is null and field is not null
      and account_id = any (${accounts}::text[]) order by account_id, stream, field limit ${MOST_FIELDS}`);
  const repaired = await db.execute<LastingProblem>(sql`
    select n.account_id as "accountId", 'repaired' as event, n.stream as subject, n.repaired::int as changes
    from (${newestRuns(sql`r.repaired`, sql`r.kind = 'reconcile' and r.repaired is not null`, accounts)}) n
    where n.repaired > 0`);
  return [...newFields, ...repaired].map(({ changes, ...key }) => ({
    ...key,
    code: null,
    detail: changes === null ? null : formatNumber(changes, 'change'),
  }));
}
