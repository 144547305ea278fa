/** Reads and writes `safety_sync.backfill_slices` and the plan in `stream_state`. Times in ms since 1970. */
import { and, desc, eq, type SQL, sql } from 'drizzle-orm';
import { toIso, toMs } from '../../shared/time.ts';
import type { BackfillPlan, LedgerChange, LedgerSlice, TimeSlice } from '../streams/state.ts';
import type { Queryable } from '../database/connection.ts';
import { backfillSlices, streamState, type StreamKey } from './control-tables.ts';
import { instantOf, type TransactionTime } from '../database/sql-names.ts';

/** null: there is no bound. */
const toBound = (ms: number): string | null => toIso(Number.isFinite(ms) ? ms : null);

interface Ledger {
  /** The backfill under way or last done; undefined when there never was one. */
  readonly plan: BackfillPlan | undefined;
  /** Its slices and the failed ones, newest first. */
  readonly slices: readonly LedgerSlice[];
}

export async function readLedger(db: Queryable, { accountId, stream }: StreamKey): Promise<Ledger> {
  const [row] = await db
    .select()
    .from(streamState)
    .where(and(eq(streamState.account_id, accountId), eq(streamState.stream, stream)));
  const plan =
    row?.backfill_started_at == null
      ? undefined
      : {
          fromMs: toMs(row.backfill_from) ?? -Infinity,
          toMs: toMs(row.backfill_to) ?? Infinity,
          watermark: toMs(row.backfill_watermark),
        };
  const rows = await db
    .select()
    .from(backfillSlices)
    .where(and(eq(backfillSlices.account_id, accountId), eq(backfillSlices.stream, stream)))
    .orderBy(desc(backfillSlices.created_to), backfillSlices.created_from);
  const slices = rows.map(({ created_from, created_to, read_to, status, expected, records }) => ({
    fromMs: toMs(created_from),
    toMs: toMs(created_to),
    readToMs: toMs(read_to ?? created_to),
    ...{ status, expected, records },
  }));
  return { plan, slices };
}

/** Writes what a reader yielded, in the transaction that stores the records it belongs to. */
export async function writeLedger(
  db: Queryable,
  scope: StreamKey & TransactionTime,
  changes: readonly LedgerChange[],
): Promise<void> {
  const { accountId, stream } = scope;
  const isThis = sql`s.account_id = ${accountId} and s.stream = ${stream}`;
  /** By bounds: each page of a slice writes the slice, the last one counts, but a failed one stays. */
  const slices = new Map<string, SliceRow>();
  const put = (slice: SliceRow): void => {
    const key = `${slice.fromMs} ${slice.toMs}`;
    if (slices.get(key)?.status !== 'failed') slices.set(key, slice);
  };
  for (const change of changes) {
    switch (change.kind) {
      case 'plan':
        await db.execute(sql`
          update ${streamState} s set backfill_from = ${toBound(change.plan.fromMs)}::timestamptz,
            backfill_to = ${toBound(change.plan.toMs)}::timestamptz,
            backfill_watermark = ${toIso(change.plan.watermark)}::timestamptz,
            backfill_started_at = statement_timestamp() where ${isThis}`);
        // Failed slices stay open until they are read.
        await db.execute(sql`delete from ${backfillSlices} s where ${isThis} and s.status <> 'failed'`);
        change.slices.forEach(put);
        break;
      case 'complete_read':
        await db.execute(
          sql`update ${streamState} s set complete_read_at = statement_timestamp() where ${isThis}`,
        );
        break;
      case 'repaired':
        await db.execute(sql`
          delete from ${backfillSlices} s using ${rowsOf(change.slices)} where ${isThis} and s.status = 'failed'
            and s.created_from = u.created_from and s.created_to = u.created_to`);
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
    select ${accountId}::text, ${stream}::text, u.created_from, u.created_to, u.status, u.read_to, u.expected,
      coalesce(u.records, 0), case when u.status <> 'pending' then ${instantOf(scope)} end
    from ${rowsOf([...slices.values()])}
    on conflict (account_id, stream, created_from, created_to) do update set status = excluded.status,
      read_to = excluded.read_to, expected = excluded.expected, records = excluded.records, finished_at = excluded.finished_at
    where s.status <> 'failed'`);
}

type SliceRow = TimeSlice & Partial<LedgerSlice>;

/** Rows `u`, one for each slice. */
function rowsOf(slices: readonly SliceRow[]): SQL {
  const rows = slices.map(({ fromMs, toMs: untilMs, readToMs = null, status, expected, records }) => ({
    created_from: toIso(fromMs),
    created_to: toIso(untilMs),
    read_to: toIso(readToMs),
    ...{ status, expected, records },
  }));
  return sql`jsonb_to_recordset(${JSON.stringify(rows)}::jsonb) as u (created_from timestamptz, created_to timestamptz,
    status text, read_to timestamptz, expected bigint, records bigint)`;
}
