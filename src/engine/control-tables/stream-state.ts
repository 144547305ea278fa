/** Reads and writes `safety_sync.stream_state`. */
import { and, eq, getTableColumns, sql } from 'drizzle-orm';
import { toIso, toMs } from '../../shared/time.ts';
import type { StreamName } from '../streams/stream.ts';
import type { Queryable } from '../database/connection.ts';
import { asGiven } from '../database/sql-names.ts';
import { type StreamKey, streamState } from './control-tables.ts';
import {
  type KeylessMemory,
  NO_STATE,
  type ServiceTime,
  type StateChange,
  type StreamState,
} from '../streams/state.ts';

const toServiceTime = (instant: string | null, clockOffsetMs: number | null): ServiceTime | null =>
  instant === null ? null : { ms: toMs(instant), clockOffsetMs };
/** Before the first run of a stream: see `KNOWN_STREAMS`. */
export async function recordStream(db: Queryable, accountId: string, stream: StreamName): Promise<void> {
  await db.insert(streamState).values({ account_id: accountId, stream }).onConflictDoNothing();
}

/** `NO_STATE` itself when there is no row. */
export async function readStreamState(
  db: Queryable,
  accountId: string,
  stream: StreamName,
): Promise<StreamState> {
  const [row] = await db
    .select({
      ...getTableColumns(streamState),
      ago: sql<
        number | null
      >`(extract(epoch from clock_timestamp() - ${streamState.checked_at_database}) * 1000)::float8`,
      // The column is read as text, because only the client of the session leaves jsonb unparsed.
      keyless: sql<string | null>`${streamState.keyless}::text`,
    })
    .from(streamState)
    .where(and(eq(streamState.account_id, accountId), eq(streamState.stream, stream)));
  if (row === undefined) return NO_STATE;
  const atMs = toMs(row.checked_at);
  return {
    watermark: toServiceTime(row.watermark, row.clock_offset_ms),
    calculatedAt: toServiceTime(row.calculated_at, row.clock_offset_ms),
    olderSinceMs: toMs(row.older_since),
    keyless: row.keyless === null ? null : (JSON.parse(row.keyless) as KeylessMemory),
    check:
      atMs === null || row.ago === null || row.fresh_for_ms === null
        ? null
        : { atMs, agoByDatabaseMs: row.ago, freshForMs: row.fresh_for_ms },
  };
}

/** The kind of a success. `unasked`: no user had to be looked up, so the service sent no response. */
export type Success = 'none' | 'asked' | 'unasked';

/**
 * A success without a response from the service gets the time of the account's newest success that had one. One in the future
 * is from before the clock of the database was put back; the clocks of nodes may differ by seconds.
 */
async function successTime(db: Queryable, accountId: string, success: Success) {
  if (success === 'none') return undefined;
  if (success === 'asked') return sql`statement_timestamp()`;
  const [row] = await db
    .select({ newest: sql<string | null>`max(${streamState.last_success_at})::text` })
    .from(streamState)
    .where(
      sql`${streamState.account_id} = ${accountId}
        and ${streamState.last_success_at} < statement_timestamp() + interval '1 minute'`,
    );
  return row?.newest ?? undefined;
}

interface StateWrite {
  readonly change: StateChange;
  readonly success: Success;
  /** Partitions that the success covers, and when; undefined: the stream has none. */
  readonly readPartitions: Readonly<Record<string, string>> | undefined;
}

/** undefined: the column stays as it is. */
const toColumn = (ms: number | null | undefined) => (ms === undefined ? undefined : toIso(ms));
const toTimeColumn = (time: ServiceTime | null | undefined) => toColumn(time === null ? null : time?.ms);

/** Writes the results of a run; part of the transaction that stores its data. */
export async function writeStreamState(
  db: Queryable,
  { accountId, stream }: StreamKey,
  { change, success, readPartitions }: StateWrite,
): Promise<void> {
  const { watermark, calculatedAt, olderSinceMs, check } = change;
  // One column of the offset serves both: a row is of one stream.
  const time = watermark === undefined ? calculatedAt : watermark;
  const values = {
    watermark: toTimeColumn(watermark),
    calculated_at: toTimeColumn(calculatedAt),
    clock_offset_ms: time === null ? null : time?.clockOffsetMs,
    older_since: toColumn(olderSinceMs),
    checked_at: toColumn(check?.atMs),
    checked_at_database: check && sql`statement_timestamp()`,
    fresh_for_ms: check?.freshForMs,
    last_success_at: await successTime(db, accountId, success),
    read_parts: readPartitions && sql`${JSON.stringify(readPartitions)}::jsonb`,
  };
  if (Object.values(values).every((value) => value === undefined)) return;
  const { backfill_watermark: backfill, read_parts: partitions } = streamState;
  const set = {
    ...asGiven(values),
    // Cleared when the watermark becomes earlier than it; otherwise `isUnclosed` would resume a finished backfill.
    backfill_watermark:
      watermark === undefined
        ? undefined
        : sql`case when ${backfill} <= ${toTimeColumn(watermark)}::timestamptz then ${backfill} end`,
    read_parts: readPartitions && sql`coalesce(${partitions}, '{}') || excluded.read_parts`,
  };
  await db
    .insert(streamState)
    .values({ account_id: accountId, stream, ...values })
    .onConflictDoUpdate({ target: [streamState.account_id, streamState.stream], set });
}
