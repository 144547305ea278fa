/** Reads which partitions of a stream have rows: equipment types, configured or not. */
import { sql } from 'drizzle-orm';
import { STREAMS } from '../streams/index.ts';
import type { StoredPartition } from '../streams/unread-partitions.ts';
import { toArrayLiteral } from '../database/array-literal.ts';
import type { Queryable } from '../database/connection.ts';
import { msOf, partitionOf, target } from '../database/sql-names.ts';
import { tableShape } from '../database/table-shape.ts';

/**
 * Counts the rows of each partition of each account. A row belongs to the partition with the request that returned it, as in the coverage
 * of a snapshot.
 */
export async function readStoredPartitions(
  db: Queryable,
  accountIds: readonly string[],
): Promise<StoredPartition[]> {
  const found: StoredPartition[] = [];
  for (const stream of STREAMS) {
    if (stream.partitionedBy === undefined) continue;
    const { partition: partitionOfRow, join } = partitionOf(stream);
    const rows = await db.execute<StoredPartition>(sql`
      select p.account_id as "accountId", p.partition, p.live, ${msOf('(s.read_parts ->> p.partition)::timestamptz')} as "readAtMs" from (
        select t.account_id, ${partitionOfRow} as partition,
          count(*) filter (where t._deleted_at is null)::int as live
        from ${target(tableShape(stream.parent))} t ${join}
        where t.account_id = any (${toArrayLiteral(accountIds)}::text[]) group by 1, 2) p
      left join safety_sync.stream_state s on s.account_id = p.account_id and s.stream = ${stream.name}
      where p.partition is not null order by p.account_id, p.partition`);
    found.push(...rows);
  }
  return found;
}
