/**
 * Reads problems that no later run corrects: fields that this version does not know, and changes that a reconcile had to
 * repair.
 */
import { sql } from 'drizzle-orm';
import type { Queryable } from '../../engine/database/connection.ts';
import { dataIssues, type StreamKey } from '../../engine/control-tables/control-tables.ts';
import { toArrayLiteral } from '../../engine/database/array-literal.ts';
import { newestRuns } from '../../engine/control-tables/runs.ts';
import { formatNumber } from '../../shared/format.ts';
import type { Condition } from './conditions.ts';

/** Bounds the list when a service keeps sending new field names. */
const MOST_FIELDS = 10_000;

export async function readLastingProblems(
  db: Queryable,
  accountIds: readonly string[],
): Promise<Condition[]> {
  const accounts = toArrayLiteral(accountIds);
  const newFields = await db.execute<StreamKey & { readonly field: string } & Record<string, unknown>>(sql`
    select account_id as "accountId", stream, field from ${dataIssues}
    where kind = 'unknown_field' and resolved_at is null and field is not null
      and account_id = any (${accounts}::text[]) order by account_id, stream, field limit ${MOST_FIELDS}`);
  const repaired = await db.execute<StreamKey & { readonly changes: number } & Record<string, unknown>>(sql`
    select n.account_id as "accountId", n.stream, n.repaired::int as changes from (${newestRuns(sql`r.repaired`, sql`r.kind = 'reconcile' and r.repaired is not null`, accounts)}) n
    where n.repaired > 0`);
  const happened = { code: null, isUndecided: false } as const;
  return [
    ...newFields.map(({ accountId, stream, field }) => ({
      ...happened,
      accountId,
      event: 'new_field' as const,
      subject: `${stream} ${field}`,
      detail: null,
    })),
    ...repaired.map(({ accountId, stream, changes }) => ({
      ...happened,
      accountId,
      event: 'repaired' as const,
      subject: stream,
      detail: formatNumber(changes, 'change'),
    })),
  ];
}
