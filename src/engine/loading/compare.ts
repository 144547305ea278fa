/** Compares records with the rows in the warehouse. */
import { toArrayLiteral } from '../database/array-literal.ts';
import { isGoneText } from '../database/sql-names.ts';
import type { StreamSession } from '../control-tables/stream-session.ts';
import type { StreamShape } from '../database/table-shape.ts';
import type { KeyedRecord } from './record.ts';

/** `added`: no row has this key. `changed`: the stored row has another checksum, or is gone. */
type ChangeStatus = 'unchanged' | 'changed' | 'added';

/** The digits in the result of `checksums` are positions in this list. */
const CHANGE_STATUSES: readonly ChangeStatus[] = ['unchanged', 'changed', 'added'];

export function createComparison(
  { connection }: Pick<StreamSession, 'connection'>,
  { parent }: StreamShape,
  { accountId, hadRows }: { readonly accountId: string; readonly hadRows: boolean },
) {
  const key = `"${parent.key[0]}"`;
  // A subselect on the primary key uses its index, however few rows the table has. The result is one text of digits, because
  // a row for each record would cost more than its lookup.
  const checksums = `with k as materialized (
      select key, hash, ord from unnest($2::text[], $3::uuid[]) with ordinality as u (key, hash, ord))
    select string_agg(coalesce(status, '2'), '' order by ord) as digits from (
      select k.ord, (select case when ${isGoneText(parent)} then '1' when t._hash = k.hash then '0' else '1' end
        from ${parent.quoted} t where t.account_id = $1 and t.${key} = k.key) as status
      from k) p`;
  /** The keys of a first load: some 10 MB for 100,000. */
  const added = new Set<string>();
  /** True if the account had no rows before the load, and none of these keys was added since. */
  function areFirst(keys: readonly string[]): boolean {
    if (hadRows) return false;
    const isKnown = keys.some((one) => added.has(one));
    for (const one of keys) added.add(one);
    return !isKnown;
  }

  async function compare(records: readonly Pick<KeyedRecord, 'key' | 'hash'>[]): Promise<string> {
    const keys = records.map(({ key }) => key);
    if (areFirst(keys)) return '2'.repeat(records.length);
    // Digits need no quotes.
    const hashes = `{${records.map(({ hash }) => hash).join(',')}}`;
    const values = [accountId, toArrayLiteral(keys), hashes];
    const [row] = await connection.query<{ digits: string }>(checksums, values);
    return row?.digits ?? '';
  }

  /** By key, with one statement. All records of a repeated key are `changed`: the merge keeps the newest one. */
  return async (records: readonly KeyedRecord[]): Promise<ReadonlyMap<string, ChangeStatus>> => {
    const digits = records.length === 0 ? '' : await compare(records);
    const statuses = new Map<string, ChangeStatus>();
    for (const [at, { key }] of records.entries())
      statuses.set(key, statuses.has(key) ? 'changed' : (CHANGE_STATUSES[Number(digits[at])] ?? 'changed'));
    return statuses;
  };
}
