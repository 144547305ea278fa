/** How records compare with what the warehouse has of them. */
import { toArrayLiteral } from '../database/array-literal.ts';
import type { StreamSession } from '../database/stream-session.ts';
import type { StreamShape } from '../database/table-shape.ts';
import type { RunKey } from '../database/control-tables.ts';

/**
 * `added`: the warehouse has no row with this key. `changed`: it has another version, or the row is marked as deleted.
 * `repeated`: the open transaction has stored another version. `unchanged`: what is stored has the same hash.
 */
export type ChangeStatus = 'added' | 'changed' | 'repeated' | 'unchanged';

/** One statement for a chunk. The keys differ. */
export type Comparison = (
  records: readonly { readonly key: string; readonly hash: string }[],
) => Promise<ChangeStatus[]>;

/** By the digit that stands for it in the statement's one text: a row of each record would cost more than its lookup. */
const STATUSES: readonly ChangeStatus[] = ['unchanged', 'changed', 'repeated', 'added'];

export function createComparison(
  session: Pick<StreamSession, 'connection' | 'transactionTime'>,
  { parent }: StreamShape,
  { accountId, runId }: RunKey,
): Comparison {
  // A subselect on the primary key stays on its index, however few rows the table has.
  const text = `with k as materialized (
      select key, hash, ord from unnest($2::text[], $3::uuid[]) with ordinality as u (key, hash, ord))
    select string_agg(coalesce(status, '3'), '' order by ord) as digits from (
      select k.ord, (select case when t._deleted_at is null and t._hash = k.hash then '0'
          when t._run_id = $4::bigint and t._synced_at = $5::timestamptz then '2' else '1' end
        from "${parent.schema}"."${parent.name}" t where t.account_id = $1 and t."${parent.key[0] ?? ''}" = k.key) as status
      from k) p`;
  return async (records) => {
    const [row] = await session.connection.query<{ digits: string | null }>(text, [
      accountId,
      toArrayLiteral(records.map((record) => record.key)),
      toArrayLiteral(records.map((record) => record.hash)),
      runId,
      // null while the transaction is only just being begun: then it has stored nothing yet.
      session.transactionTime?.syncedAt ?? null,
    ]);
    return Array.from(row?.digits ?? '', (digit) => STATUSES[Number(digit)] ?? 'changed');
  };
}
