/** Reads and writes `safety_sync.optional_methods`. */
import { eq } from 'drizzle-orm';
import type { MethodResult, MethodState } from '../streams/optional-methods.ts';
import type { Queryable } from '../database/connection.ts';
import { agoOf, type TransactionTime } from '../database/sql-names.ts';
import { optionalMethods } from './control-tables.ts';

/** By method; without those that were never asked for. */
export async function readOptionalMethods(
  db: Queryable,
  accountId: string,
): Promise<Map<string, MethodState>> {
  const { account_id, method, code, unnamed, form } = optionalMethods;
  const [askedAgoMs, readAgoMs] = [agoOf<number>('asked_at'), agoOf<number | null>('read_at')];
  const rows = await db
    .select({ method, askedAgoMs, readAgoMs, code, unnamed, form })
    .from(optionalMethods)
    .where(eq(account_id, accountId));
  return new Map(rows.map(({ method: name, ...state }) => [name, state]));
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
