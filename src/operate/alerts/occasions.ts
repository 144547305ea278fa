/**
 * Reads problems that no later run corrects: fields that this version does not know, and changes that a reconcile had to
 * repair.
 */
import { sql } from 'drizzle-orm';
import type { StreamName } from '../../engine/streams/stream.ts';
import type { Queryable } from '../../engine/database/connection.ts';
import { dataIssues, type StreamKey } from '../../engine/control-tables/control-tables.ts';
import { toArrayLiteral } from '../../engine/database/array-literal.ts';
import { newestRuns } from '../../engine/control-tables/runs.ts';

export interface Occasions {
  /** Each unknown field that the service sends, once. */
  readonly newFields: readonly (StreamKey & { readonly field: string })[];
  /** Streams whose newest reconcile repaired rows. */
  readonly repaired: readonly (StreamKey & { readonly changes: number })[];
}

/** Bounds the list when a service keeps sending new field names. */
const MOST_FIELDS = 10_000;

export async function readOccasions(db: Queryable, accountIds: readonly string[]): Promise<Occasions> {
  const accounts = toArrayLiteral(accountIds);
  const fields = await db.execute<{ account_id: string; stream: StreamName; field: string }>(sql`
    select account_id, stream, field from ${dataIssues}
    where kind = 'unknown_field' and resolved_at is null and field is not null
      and account_id = any (${accounts}::text[]) order by account_id, stream, field limit ${MOST_FIELDS}`);
  const repaired = await db.execute<{ account_id: string; stream: StreamName; repaired: string }>(sql`
    select * from (${newestRuns(sql`r.repaired`, sql`r.kind = 'reconcile' and r.repaired is not null`, accounts)}) n
    where n.repaired > 0`);
  return {
    newFields: fields.map(({ account_id: accountId, stream, field }) => ({ accountId, stream, field })),
    repaired: repaired.map(({ account_id: accountId, stream, repaired: changes }) => ({
      accountId,
      stream,
      changes: Number(changes),
    })),
  };
}
