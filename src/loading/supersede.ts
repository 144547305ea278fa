/**
 * A record that came twice in one transaction: the first version went straight into its tables and was never seen there, so
 * it makes room for the newer one without leaving a state in the history.
 */
import { toArrayLiteral } from '../database/copy-text.ts';
import type { StreamSession } from '../database/stream-session.ts';
import type { PreparedRecord } from './prepared-record.ts';
import type { StreamShape } from '../database/table-shape.ts';
import type { RunKey } from '../database/control-tables.ts';

interface TakeOut {
  readonly shape: StreamShape;
  readonly scope: RunKey;
  /** Of which the open transaction has stored another version. */
  readonly records: readonly PreparedRecord[];
}

/** Takes out the stored versions that are not newer. Returns the records whose keys are free now. */
export async function takeOutOlder(
  { connection }: StreamSession,
  { shape: { stream, parent, children }, scope, records }: TakeOut,
): Promise<PreparedRecord[]> {
  if (records.length === 0) return [];
  const { versionColumn } = stream;
  const keys = records.map(({ read }) => read.identified.key);
  const key = parent.key[0] ?? '';
  const isOlder =
    versionColumn === null
      ? '$3::text[] is not null'
      : `coalesce(t."${versionColumn}", '-infinity') <= coalesce(u.version::timestamptz, '-infinity')`;
  const rows = await connection.query<{ key: string }>(
    `select t."${key}" as key from "${parent.schema}"."${parent.name}" t
      join unnest($2::text[], $3::text[]) as u (key, version) on u.key = t."${key}"
      where t.account_id = $1 and ${isOlder}`,
    [
      scope.accountId,
      toArrayLiteral(keys),
      toArrayLiteral(
        records.map(({ parent: row }) =>
          versionColumn === null ? null : ((row as Record<string, unknown>)[versionColumn] as string | null),
        ),
      ),
    ],
  );
  const free = new Set(rows.map((row) => row.key));
  for (const table of [...children].reverse().concat(parent)) {
    await connection.query(
      `delete from "${table.schema}"."${table.name}" where account_id = $1 and "${table.key[0] ?? ''}" = any($2::text[])`,
      [scope.accountId, toArrayLiteral([...free])],
    );
  }
  return records.filter(({ read }) => free.has(read.identified.key ?? ''));
}
