/** Reads and writes `safety_sync.backfill_slices` and the plan in `stream_state`. Times in ms since 1970. */
import { sql, type SQL } from 'drizzle-orm';
import { toIso } from '../../shared/time.ts';
import type { BackfillPlan, LedgerChange, LedgerSlice } from '../streams/state.ts';
import type { Queryable } from '../database/connection.ts';
import { backfillSlices, isOf, streamState, type StreamKey } from './control-tables.ts';
import { asInserted, msOf, type TransactionTime } from '../database/sql-names.ts';

/** The ends of time: a slice that reaches one of them has no bound there. */
const BEGINNING = '1970-01-01T00:00:00Z';
const END = '2100-01-01T00:00:00Z';
const endOf = (time: string): SQL =>
  sql`case ${sql.raw(time)} when ${BEGINNING}::timestamptz then '-Infinity' when ${END}::timestamptz then 'Infinity' else ${msOf(time)} end`;
const toEnd = (ms: number): string => toBound(ms) ?? (ms < 0 ? BEGINNING : END);

type ReadRow<Row> = Row & Record<string, unknown>;

/** `plan`: the backfill under way or last done; undefined when there never was one. Its slices and the failed ones, newest first. */
export async function readLedger(db: Queryable, key: StreamKey) {
  const [plan] = await db.execute<ReadRow<BackfillPlan>>(sql`
    select coalesce(${msOf('backfill_from')}, '-Infinity') as "fromMs", coalesce(${msOf('backfill_to')}, 'Infinity') as "toMs",
      ${msOf('backfill_watermark')} as watermark
    from ${streamState} where ${isOf(key)} and backfill_started_at is not null`);
  const slices = await db.execute<ReadRow<LedgerSlice>>(sql`
    select ${endOf('created_from')} as "fromMs", ${endOf('created_to')} as "toMs", ${endOf('coalesce(read_to, created_to)')} as "readToMs",
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
  for (const change of changes) {
    switch (change.kind) {
      case 'plan': {
        const { fromMs, toMs, watermark } = change.plan;
        await db.execute(sql`
          update ${streamState} set backfill_from = ${toBound(fromMs)}, backfill_to = ${toBound(toMs)},
            backfill_watermark = ${toIso(watermark)}, backfill_started_at = statement_timestamp() where ${isOf(scope)}`);
        // Failed slices stay open until they are read.
        await db.execute(sql`delete from ${backfillSlices} where ${isOf(scope)} and status <> 'failed'`);
        for (const slice of change.slices) await writeSlice(db, scope, slice);
        break;
      }
      case 'complete_read':
        await db.execute(
          sql`update ${streamState} set complete_read_at = statement_timestamp() where ${isOf(scope)}`,
        );
        break;
      case 'repaired':
        for (const { fromMs, toMs } of change.slices)
          await db.execute(sql`delete from ${backfillSlices} where ${isOf(scope)} and status = 'failed'
            and created_from = ${toEnd(fromMs)} and created_to = ${toEnd(toMs)}`);
        break;
      case 'slice':
        await writeSlice(db, scope, change.slice);
    }
  }
}

/** A failed one stays until it is read. */
async function writeSlice(
  db: Queryable,
  { accountId, stream, now }: StreamKey & TransactionTime,
  { fromMs, toMs, readToMs, status, expected, records }: LedgerSlice,
): Promise<void> {
  await db.execute(sql`
    insert into ${backfillSlices} as s
      (account_id, stream, created_from, created_to, status, read_to, expected, records, finished_at)
    values (${accountId}, ${stream}, ${toEnd(fromMs)}, ${toEnd(toMs)}, ${status}, ${toEnd(readToMs)}, ${expected}, ${records},
      ${status === 'pending' ? null : now})
    on conflict (account_id, stream, created_from, created_to) do update
      set ${asInserted(['status', 'read_to', 'expected', 'records', 'finished_at'])} where s.status <> 'failed'`);
}
