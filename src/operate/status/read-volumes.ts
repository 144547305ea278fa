/** Counts the rows of the streams, live and deleted. */
import { getTableColumns, sql } from 'drizzle-orm';
import { STREAMS } from '../../engine/streams/index.ts';
import type { StreamName } from '../../engine/streams/stream.ts';
import type { Queryable } from '../../engine/database/connection.ts';
import { toArrayLiteral } from '../../engine/database/array-literal.ts';

interface RowCount extends Record<string, unknown> {
  readonly account_id: string;
  readonly stream: StreamName;
  readonly live: number;
  readonly deleted: number;
  /** Rows that the service still lists: also those that it sends as deleted. */
  readonly listed: number;
}

/** In one statement for all accounts. */
export async function countRows(db: Queryable, accountIds: readonly string[]): Promise<readonly RowCount[]> {
  const counts = STREAMS.map(({ name, parent }) => {
    const isSent = sql.raw(
      'is_deleted_at_source' in getTableColumns(parent) ? 'is_deleted_at_source' : 'false',
    );
    return sql`select account_id, ${name}::text as stream,
      count(*) filter (where _deleted_at is null)::int as live,
      count(*) filter (where _deleted_at is not null)::int as deleted,
      count(*) filter (where _deleted_at is null or ${isSent})::int as listed
    from ${parent} where account_id = any (${toArrayLiteral(accountIds)}::text[]) group by account_id`;
  });
  return await db.execute<RowCount>(sql.join(counts, sql` union all `));
}
