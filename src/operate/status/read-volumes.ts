/** Counts the rows of the tables, which is expensive: rarely. */
import { getTableColumns, sql } from 'drizzle-orm';
import type { PgTable } from 'drizzle-orm/pg-core';
import { STREAMS } from '../../engine/streams/index.ts';
import type { StreamName } from '../../engine/streams/stream.ts';
import type { StoredPartition } from '../../engine/streams/unread-partitions.ts';
import type { Queryable } from '../../engine/database/connection.ts';
import { toArrayLiteral } from '../../engine/database/array-literal.ts';
import { target } from '../../engine/database/sql-names.ts';
import { readStoredPartitions } from '../../engine/control-tables/stored-partitions.ts';
import { tableShape } from '../../engine/database/table-shape.ts';

interface RowVolume {
  readonly stream: StreamName;
  readonly rows: number;
  /** An estimate from the planner's statistics, over all accounts and with deleted rows. */
  readonly isEstimate: boolean;
}

export interface Volumes {
  readonly rows: readonly RowVolume[];
  /** For streams that are requested in partitions. */
  readonly partitions: readonly StoredPartition[];
}

/** Tables with more rows than this are estimated. */
const COUNTED_ROWS = 200_000;
/** Bytes per row, to estimate tables that were never analyzed. */
const BYTES_A_ROW = 500;

async function readRowVolumes(db: Queryable, accountId: string): Promise<RowVolume[]> {
  const volumes: RowVolume[] = [];
  for (const { name: stream, parent } of STREAMS) {
    const shape = tableShape(parent);
    const table = `${shape.schema}.${shape.name}`;
    const [guess] = await db.execute<{ rows: number }>(sql`
      select case when reltuples < 0 then pg_relation_size(oid)::float8 / ${BYTES_A_ROW} else reltuples::float8 end as rows
      from pg_class where oid = ${table}::regclass`);
    const estimate = Math.round(guess?.rows ?? 0);
    if (estimate > COUNTED_ROWS) {
      volumes.push({ stream, rows: estimate, isEstimate: true });
      continue;
    }
    const [counted] = await db.execute<{ rows: number }>(sql`
      select count(*)::int as rows from ${target(shape)} where account_id = ${accountId} and _deleted_at is null`);
    volumes.push({ stream, rows: counted?.rows ?? 0, isEstimate: false });
  }
  return volumes;
}

export async function readVolumes(db: Queryable, accountId: string): Promise<Volumes> {
  return {
    rows: await readRowVolumes(db, accountId),
    partitions: (await readStoredPartitions(db, [accountId])).get(accountId) ?? [],
  };
}

interface RowCount extends Record<string, unknown> {
  readonly account_id: string;
  readonly stream: StreamName;
  readonly live: number;
  readonly deleted: number;
  /** Rows that the service still lists: also those that it sends as deleted. */
  readonly listed: number;
}

/** Counts every row, in one statement for all accounts. */
export async function countRows(db: Queryable, accountIds: readonly string[]): Promise<Iterable<RowCount>> {
  const isDeletedThere = (parent: PgTable) =>
    'is_deleted_at_source' in getTableColumns(parent) ? sql`is_deleted_at_source` : sql`false`;
  const counts = STREAMS.map(
    ({ name, parent }) => sql`select account_id, ${name}::text as stream,
      count(*) filter (where _deleted_at is null)::int as live,
      count(*) filter (where _deleted_at is not null)::int as deleted,
      count(*) filter (where _deleted_at is null or ${isDeletedThere(parent)})::int as listed
    from ${target(tableShape(parent))} where account_id = any (${toArrayLiteral(accountIds)}::text[]) group by account_id`,
  );
  return await db.execute<RowCount>(sql.join(counts, sql` union all `));
}
