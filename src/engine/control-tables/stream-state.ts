/** Reads and writes `safety_sync.stream_state`. */
import { and, eq, sql } from 'drizzle-orm';
import { toIso, toMs } from '../../shared/time.ts';
import type { StreamName } from '../streams/stream.ts';
import type { Queryable } from '../database/connection.ts';
import { asGiven } from '../database/sql-names.ts';
import { streamState } from './control-tables.ts';
import {
  type KeylessMemory,
  NO_STATE,
  type ServiceTime,
  type StateChange,
  type StreamState,
} from '../streams/state.ts';

const toServiceTime = (instant: string | null, clockOffsetMs: number | null): ServiceTime | null =>
  instant === null ? null : { ms: toMs(instant), clockOffsetMs };
/** One column serves both: a row is of one stream. */
const toColumns = (time: ServiceTime | null) => ({
  at: toIso(time?.ms ?? null),
  clock_offset_ms: time?.clockOffsetMs ?? null,
});

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
      watermark: streamState.watermark,
      calculated_at: streamState.calculated_at,
      clock_offset_ms: streamState.clock_offset_ms,
      older_since: streamState.older_since,
      checked_at: streamState.checked_at,
      ago: sql<
        number | null
      >`(extract(epoch from clock_timestamp() - ${streamState.checked_at_database}) * 1000)::float8`,
      fresh_for_ms: streamState.fresh_for_ms,
      // As text: the session's client would pass it through, others would not.
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

function toWatermarkColumns(watermark: ServiceTime | null) {
  const { at, clock_offset_ms } = toColumns(watermark);
  return { watermark: at, clock_offset_ms };
}

/** Clears the backfill’s watermark when the watermark becomes earlier than it; otherwise `isUnclosed` would resume a finished backfill. */
function backfillWatermarkUpTo(watermark: ServiceTime | null) {
  const { backfill_watermark } = streamState;
  return sql`case when ${backfill_watermark} <= ${toColumns(watermark).at}::timestamptz then ${backfill_watermark} end`;
}

function toCalculatedColumns(calculatedAt: ServiceTime | null) {
  const { at, clock_offset_ms } = toColumns(calculatedAt);
  return { calculated_at: at, clock_offset_ms };
}

/** The kind of a success. `unasked`: no user had to be looked up, so the service sent no response. */
export type Success = 'none' | 'asked' | 'unasked';

/**
 * A success without a response from the service gets the time of the account's newest success that had one.
 */
async function successTime(db: Queryable, accountId: string, success: Success) {
  if (success === 'none') return {};
  if (success === 'asked') return { last_success_at: sql`statement_timestamp()` };
  const [row] = await db
    .select({ newest: sql<string | null>`max(${streamState.last_success_at})::text` })
    .from(streamState)
    .where(eq(streamState.account_id, accountId));
  return row?.newest == null ? {} : { last_success_at: row.newest };
}

interface StateWrite {
  readonly change: StateChange;
  readonly success: Success;
  /** Parts that the success covers, and when; absent: the stream is not requested in parts. */
  readonly readParts?: Readonly<Record<string, string>> | undefined;
}

/** Writes the results of a run; part of the transaction that stores its data. */
export async function writeStreamState(
  db: Queryable,
  accountId: string,
  stream: StreamName,
  { change, success, readParts }: StateWrite,
): Promise<void> {
  const values = {
    ...(change.watermark === undefined ? {} : toWatermarkColumns(change.watermark)),
    ...(change.calculatedAt === undefined ? {} : toCalculatedColumns(change.calculatedAt)),
    ...(change.olderSinceMs === undefined ? {} : { older_since: toIso(change.olderSinceMs) }),
    ...(change.check === undefined
      ? {}
      : {
          checked_at: toIso(change.check.atMs),
          checked_at_database: sql`statement_timestamp()`,
          fresh_for_ms: change.check.freshForMs,
        }),
    ...(await successTime(db, accountId, success)),
    ...(readParts === undefined ? {} : { read_parts: sql`${JSON.stringify(readParts)}::jsonb` }),
  };
  if (Object.keys(values).length === 0) return;
  const { watermark } = change;
  const set = {
    ...asGiven(values),
    ...(watermark === undefined ? {} : { backfill_watermark: backfillWatermarkUpTo(watermark) }),
    ...(readParts === undefined
      ? {}
      : { read_parts: sql`coalesce(${streamState.read_parts}, '{}') || excluded.read_parts` }),
  };
  await db
    .insert(streamState)
    .values({ account_id: accountId, stream, ...values })
    .onConflictDoUpdate({ target: [streamState.account_id, streamState.stream], set });
}
