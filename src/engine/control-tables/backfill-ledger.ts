/** Reads and writes `safety_sync.backfill_slices` and the plan in `stream_state`. Times in ms since 1970. */
import { type SQL, sql } from 'drizzle-orm';
import { toIso } from '../../shared/time.ts';
import type { BackfillPlan, LedgerChange, LedgerSlice, TimeSlice } from '../streams/state.ts';
import type { Queryable } from '../database/connection.ts';
import { backfillSlices, isOf, streamState, type StreamKey } from './control-tables.ts';
import { instantOf, msOf, type TransactionTime } from '../database/sql-names.ts';

type ReadRow<Row> = Row & Record<string, unknown>;

/** `plan`: the backfill under way or last done; undefined when there never was one. Its slices and the failed ones, newest first. */
export async function readLedger(db: Queryable, key: StreamKey) {
  const [plan] = await db.execute<ReadRow<BackfillPlan>>(sql`
    select coalesce(${msOf('backfill_from')}, '-Infinity') as "fromMs", coalesce(${msOf('backfill_to')}, 'Infinity') as "toMs",
      ${msOf('backfill_watermark')} as watermark
    from ${streamState} where ${isOf(key)} and backfill_started_at is not null`);
  const slices = await db.execute<ReadRow<LedgerSlice>>(sql`
    select ${msOf('created_from')} as "fromMs", ${msOf('created_to')} as "toMs", ${msOf('coalesce(read_to, created_to)')} as "readToMs",
      status, expected::float8 as expected, records::float8 as records
    from ${backfillSlices} where ${isOf(key)} order by created_to desc, created_from`);
  return { plan, slices };
}

/** null: there is no bound. */
const toBound = (ms: number): string | null => toIso(Number.isFinite(ms) ? ms : null);

/** Writes what a reader yielded, in the transaction that stores the records it belongs to. */
export async function writeLedger(
  db: Queryable,
  scope: StreamKey & TransactionTime,
  changes: readonly LedgerChange[],
): Promise<void> {
  const { accountId, stream } = scope;
  /** By bounds: each page of a slice writes the slice, the last one counts, but a failed one stays. */
  const slices = new Map<string, TimeSlice & Partial<LedgerSlice>>();
  const boundsOf = ({ fromMs, toMs }: TimeSlice): string => `${fromMs} ${toMs}`;
  const put = (slice: TimeSlice & Partial<LedgerSlice>): void => {
    const bounds = boundsOf(slice);
    if (slices.get(bounds)?.status !== 'failed') slices.set(bounds, slice);
  };
  for (const change of changes) {
    switch (change.kind) {
      case 'plan':
        await db.execute(sql`
          update ${streamState} set backfill_from = ${toBound(change.plan.fromMs)}::timestamptz,
            backfill_to = ${toBound(change.plan.toMs)}::timestamptz, backfill_watermark = ${toIso(change.plan.watermark)}::timestamptz,
            backfill_started_at = statement_timestamp() where ${isOf(scope)}`);
        // Failed slices stay open until they are read.
        await db.execute(sql`delete from ${backfillSlices} where ${isOf(scope)} and status <> 'failed'`);
        change.slices.forEach(put);
        break;
      case 'complete_read':
        await db.execute(
          sql`update ${streamState} set complete_read_at = statement_timestamp() where ${isOf(scope)}`,
        );
        break;
      case 'repaired':
        for (const slice of change.slices) slices.delete(boundsOf(slice));
        await db.execute(sql`
          delete from ${backfillSlices} s using ${rowsOf(change.slices)}
          where ${isOf(scope)} and s.status = 'failed' and created_from = ${timeOf('fromMs')} and created_to = ${timeOf('toMs')}`);
        break;
      case 'failed':
        put({ ...change.slice, status: 'failed' });
        break;
      case 'slice':
        put(change.slice);
    }
  }
  if (slices.size === 0) return;
  // The time is a value, because Citus allows no function that reads the clock in a `case`.
  await db.execute(sql`
    insert into ${backfillSlices} as s
      (account_id, stream, created_from, created_to, status, read_to, expected, records, finished_at)
    select ${accountId}::text, ${stream}::text, ${timeOf('fromMs')}, ${timeOf('toMs')}, status, ${timeOf('readToMs')}, expected,
      coalesce(records, 0), case when status <> 'pending' then ${instantOf(scope)} end
    from ${rowsOf([...slices.values()])}
    on conflict (account_id, stream, created_from, created_to) do update set status = excluded.status,
      read_to = excluded.read_to, expected = excluded.expected, records = excluded.records, finished_at = excluded.finished_at
    where s.status <> 'failed'`);
}

/** Rows `u`, one for each slice. */
const rowsOf = (slices: readonly (TimeSlice & Partial<LedgerSlice>)[]): SQL =>
  sql`jsonb_to_recordset(${JSON.stringify(slices)}::jsonb) as u ("fromMs" float8, "toMs" float8, "readToMs" float8, status text,
    expected bigint, records bigint)`;
/** Exact, because an interval counts whole microseconds. Without a time zone the expression is IMMUTABLE, as Citus requires. */
const timeOf = (ms: string): SQL =>
  sql.raw(`((timestamp 'epoch' + u."${ms}" * interval '1 millisecond') at time zone 'UTC')`);
