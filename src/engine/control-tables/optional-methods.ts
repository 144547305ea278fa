/** Reads and writes `safety_sync.optional_methods`. */
import { sql } from 'drizzle-orm';
import type { MethodResult, MethodState } from '../streams/optional-methods.ts';
import type { Queryable } from '../database/connection.ts';
import { agoOf, type TransactionTime } from '../database/sql-names.ts';
import { optionalMethods } from './control-tables.ts';

/** By method; without those that were never asked for. */
export async function readOptionalMethods(db: Queryable, accountId: string) {
  const rows = await db.execute<MethodState & Record<string, unknown> & { method: string }>(sql`
    select method, ${agoOf('asked_at')} as "askedAgoMs", ${agoOf('read_at')} as "readAgoMs", code, to_jsonb(unnamed) as unnamed, form
    from ${optionalMethods} where account_id = ${accountId}`);
  return new Map<string, MethodState>(rows.map(({ method, ...state }) => [method, state]));
}

/** Part of the transaction that stores what was read; the later result of one method counts. */
export async function writeOptionalMethods(
  db: Queryable,
  { accountId, now }: TransactionTime & { readonly accountId: string },
  results: readonly MethodResult[],
): Promise<void> {
  for (const { method, code, unnamed, form, isStored = true } of results) {
    const read_at = code === null && isStored ? now : undefined;
    const state = { code, asked_at: now, read_at, unnamed: unnamed && [...unnamed], form };
    await db
      .insert(optionalMethods)
      .values({ account_id: accountId, method, ...state })
      .onConflictDoUpdate({ target: [optionalMethods.account_id, optionalMethods.method], set: state });
  }
}
