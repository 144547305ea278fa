/** Reads which parts of a stream have rows: equipment types, configured or not. */
import { sql } from 'drizzle-orm';
import { STREAMS } from '../streams/index.ts';
import type { StoredPart } from '../streams/unread-parts.ts';
import { toArrayLiteral } from '../database/array-literal.ts';
import type { Queryable } from '../database/connection.ts';
import { partOf, target } from '../database/sql-names.ts';
import { tableShape } from '../database/table-shape.ts';

interface PartRow extends Omit<StoredPart, 'readAtMs'>, Record<string, unknown> {
  readonly accountId: string;
  readonly readAt: string | null;
}

/**
 * Counts the rows of each part, by account. A row belongs to the part with the request that returned it, as in the coverage
 * of a snapshot.
 */
export async function readStoredParts(
  db: Queryable,
  accountIds: readonly string[],
): Promise<Map<string, StoredPart[]>> {
  const found = new Map<string, StoredPart[]>();
  for (const stream of STREAMS) {
    if (stream.partition === undefined) continue;
    const { part: partOfRow, join } = partOf(stream);
    const rows = await db.execute<PartRow>(sql`
      select p.account_id as "accountId", p.part, p.live, p.deleted, s.read_parts ->> p.part as "readAt" from (
        select t.account_id, ${partOfRow} as part,
          count(*) filter (where t._deleted_at is null)::int as live, count(t._deleted_at)::int as deleted
        from ${target(tableShape(stream.parent))} t ${join}
        where t.account_id = any (${toArrayLiteral(accountIds)}::text[]) group by 1, 2) p
      left join safety_sync.stream_state s on s.account_id = p.account_id and s.stream = ${stream.name}
      where p.part is not null order by p.account_id, p.part`);
    for (const { accountId, part, live, deleted, readAt } of rows) {
      const readAtMs = readAt === null ? null : Date.parse(readAt);
      found.set(accountId, [...(found.get(accountId) ?? []), { part, live, deleted, readAtMs }]);
    }
  }
  return found;
}
