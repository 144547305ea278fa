/** Reads and writes `safety_sync.stream_state`, and `backfill_slices`, the ledger of its backfill. Times in ms since 1970. */
import { type SQL, sql } from 'drizzle-orm';
import { toIso } from '../../shared/time.ts';
import type { Queryable } from '../database/connection.ts';
import { toArrayLiteral } from '../database/array-literal.ts';
import { agoOf, asInserted, msOf, timestampLiteral, type TransactionTime } from '../database/sql-names.ts';
import { NOT_OFFERED } from '../streams/optional-methods.ts';
import { backfillSlices, isOf, type StreamKey, streamState } from './control-tables.ts';
import {
  type BackfillPlan,
  type LedgerChange,
  type LedgerSlice,
  NO_STATE,
  type StateChange,
  type StreamState,
  WHOLE_TIME,
} from '../streams/state.ts';

/** At the beginning of a run: the first one of a stream makes the row, which shows that it has runs. */
export async function openStreamState(db: Queryable, key: StreamKey): Promise<StreamState> {
  const { accountId, stream } = key;
  // A request in the future is from before the clock of the database was put back.
  const [row] = await db.execute<StreamState & Record<string, unknown>>(sql`
    select ${msOf('watermark')} as watermark, ${msOf('calculated_at')} as "calculatedAt",
      case when checked_at <= clock_timestamp() then greatest(0, coalesce(fresh_for_ms, 0) - ${agoOf('checked_at')}) else 0 end as "freshForMs",
      jsonb_build_object('agoMs', ${agoOf('complete_read_at')}, 'tookMs', coalesce(complete_read_ms, 0),
        'difference', coalesce(difference, 0)) as "completeRead",
      last_success_at is null and exists (
        select from safety_sync.sources s where s.account_id = ${accountId} and s.moved_at is not null) as "isMoved"
    from ${streamState} where ${isOf(key)}`);
  if (row !== undefined) return row;
  await db.insert(streamState).values({ account_id: accountId, stream }).onConflictDoNothing();
  return NO_STATE;
}

type StateScope = StreamKey & TransactionTime;

/** The last time at which all the lists that the service offers were read; that of the transaction if there are none. */
const whenRead = ({ accountId, now }: StateScope, lists: readonly string[]): SQL => sql`coalesce((
  select min(m.read_at) from safety_sync.optional_methods m
  where m.account_id = ${accountId} and m.method = any (${toArrayLiteral(lists)}::text[])
    and coalesce(m.code, '') <> all (${toArrayLiteral([...NOT_OFFERED])}::text[])), ${now}::timestamptz)`;

interface StateWrite {
  readonly change: StateChange;
  /** The difference that a complete read left; null: unknown. */
  readonly difference: number | null | undefined;
  /** The source was read to now. */
  readonly isFresh: boolean;
  /** Partitions that the success covers, and when; undefined: the stream has none. */
  readonly readPartitions: Readonly<Record<string, string>> | undefined;
  /** Optional lists of the stream: it succeeded when the offered ones were all read, however many of them in this run. */
  readonly lists: readonly string[];
}

/** Writes the results of a run; part of the transaction that stores its data. */
export async function writeStreamState(
  db: Queryable,
  scope: StateScope,
  { change, difference = change.difference, isFresh, readPartitions, lists }: StateWrite,
): Promise<void> {
  // undefined: the column stays as it is.
  const values = {
    watermark: toIso(change.watermark),
    backfill_watermark: change.isPlanDone === true ? null : undefined,
    calculated_at: toIso(change.calculatedAt),
    checked_at: change.freshForMs === undefined ? undefined : sql`statement_timestamp()`,
    fresh_for_ms: change.freshForMs,
    complete_read_ms: change.completeRead?.tookMs,
    difference,
    last_success_at: isFresh ? whenRead(scope, lists) : streamState.last_success_at,
    read_parts:
      readPartitions &&
      sql`coalesce(${streamState.read_parts}, '{}') || ${JSON.stringify(readPartitions)}::jsonb`,
  };
  await db.update(streamState).set(values).where(isOf(scope));
}

/** `plan`: the backfill under way or last done; undefined when there never was one. Its slices and the failed ones, newest first. */
export async function readLedger(db: Queryable, key: StreamKey) {
  const [plan] = await db.execute<BackfillPlan & Record<string, unknown>>(sql`
    select coalesce(${msOf('backfill_from')}, ${WHOLE_TIME.fromMs}) as "fromMs", coalesce(${msOf('backfill_to')}, ${WHOLE_TIME.toMs}) as "toMs",
      ${msOf('backfill_watermark')} as watermark
    from ${streamState} where ${isOf(key)} and backfill_started_at is not null`);
  const slices = await db.execute<LedgerSlice & Record<string, unknown>>(sql`
    select ${msOf('created_from')} as "fromMs", ${msOf('created_to')} as "toMs", ${msOf('coalesce(read_to, created_to)')} as "readToMs",
      status, expected::float8 as expected, records::float8 as records
    from ${backfillSlices} where ${isOf(key)} order by created_to desc, created_from`);
  return { plan, slices };
}

/** Writes what a reader yielded, in the transaction that stores the records it belongs to. */
export async function writeLedger(db: Queryable, scope: StateScope, change: LedgerChange): Promise<void> {
  switch (change.kind) {
    case 'plan': {
      const { fromMs, toMs, watermark } = change.plan;
      await db.execute(sql`
        update ${streamState} set backfill_watermark = ${toIso(watermark)}, backfill_started_at = statement_timestamp(),
          backfill_from = nullif(${timestampLiteral(fromMs)}, ${timestampLiteral(WHOLE_TIME.fromMs)}),
          backfill_to = nullif(${timestampLiteral(toMs)}, ${timestampLiteral(WHOLE_TIME.toMs)}) where ${isOf(scope)}`);
      // Failed slices stay open until they are read.
      await db.execute(sql`delete from ${backfillSlices} where ${isOf(scope)} and status <> 'failed'`);
      break;
    }
    case 'complete_read':
      await db.execute(
        sql`update ${streamState} set complete_read_at = statement_timestamp() where ${isOf(scope)}`,
      );
      break;
    case 'read_again':
      await db.execute(sql`delete from ${backfillSlices} where ${isOf(scope)} and status = 'failed'
        and created_from >= ${toIso(change.range.fromMs)} and created_to <= ${toIso(change.range.toMs)}`);
      break;
    case 'slice': {
      const { accountId, stream, now } = scope;
      const { fromMs, toMs, readToMs, status, expected, records } = change.slice;
      // A failed one stays until it is read.
      await db.execute(sql`
        insert into ${backfillSlices} as s
          (account_id, stream, created_from, created_to, status, read_to, expected, records, finished_at)
        values (${accountId}, ${stream}, ${toIso(fromMs)}, ${toIso(toMs)}, ${status}, ${toIso(readToMs)}, ${expected}, ${records},
          ${status === 'pending' ? null : now})
        on conflict (account_id, stream, created_from, created_to) do update
          set ${asInserted(['status', 'read_to', 'expected', 'records', 'finished_at'])} where s.status <> 'failed'`);
    }
  }
}
