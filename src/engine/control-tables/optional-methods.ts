/** Reads and writes `safety_sync.optional_methods`. */
import { sql } from 'drizzle-orm';
import type { MethodResult, MethodState } from '../streams/optional-methods.ts';
import type { Queryable } from '../database/connection.ts';
import { agoOf, type TransactionTime } from '../database/sql-names.ts';
import { toArrayLiteral } from '../database/array-literal.ts';

type Row = Omit<MethodState, 'unnamed'> & { readonly method: string; readonly unnamed: string };

/** By method; without those that were never asked for. */
export async function readOptionalMethods(
  db: Queryable,
  accountId: string,
): Promise<Map<string, MethodState>> {
  const rows = await db.execute<Row & Record<string, unknown>>(sql`
    select method, ${agoOf('asked_at')} as "askedAgoMs", ${agoOf('read_at')} as "readAgoMs", code,
      array_to_json(coalesce(unnamed, '{}'))::text as unnamed, form
    from safety_sync.optional_methods where account_id = ${accountId}`);
  return new Map(
    rows.map(({ method, unnamed, ...state }) => [
      method,
      { ...state, unnamed: JSON.parse(unnamed) as string[] },
    ]),
  );
}

/** Part of the transaction that stores what was read; the later result of one method counts. */
export async function writeOptionalMethods(
  db: Queryable,
  { accountId, now }: TransactionTime & { readonly accountId: string },
  results: readonly MethodResult[],
): Promise<void> {
  for (const { method, code, unnamed, form, isStored = true } of results) {
    const isRead = code === null && isStored;
    await db.execute(sql`
      insert into safety_sync.optional_methods as m (account_id, method, asked_at, read_at, code, unnamed, form)
      values (${accountId}, ${method}, ${now}::timestamptz, ${isRead ? now : null}::timestamptz, ${code},
        ${unnamed === undefined ? null : toArrayLiteral(unnamed)}::text[], ${form ?? null})
      on conflict (account_id, method) do update set asked_at = excluded.asked_at, code = excluded.code,
        read_at = coalesce(excluded.read_at, m.read_at), unnamed = coalesce(excluded.unnamed, m.unnamed),
        form = coalesce(excluded.form, m.form)`);
  }
}
