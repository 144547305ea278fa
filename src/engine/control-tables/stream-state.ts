/** Reads and writes `safety_sync.stream_state`. */
import { and, eq, getTableColumns, sql } from 'drizzle-orm';
import type { PgColumn } from 'drizzle-orm/pg-core';
import { toIso, toMs } from '../../shared/time.ts';
import type { StreamName } from '../streams/stream.ts';
import type { Queryable } from '../database/connection.ts';
import { toArrayLiteral } from '../database/array-literal.ts';
import { NOT_OFFERED } from '../streams/optional-methods.ts';
import { optionalMethods, type StreamKey, streamState } from './control-tables.ts';
import { NO_STATE, type StateChange, type StreamState } from '../streams/state.ts';

/** ms since a time, by the database's clock. */
const agoOf = (column: PgColumn) =>
  sql<number | null>`(extract(epoch from clock_timestamp() - ${column}) * 1000)::float8`;

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
      checkedAgoMs: agoOf(streamState.checked_at),
      completeAgoMs: agoOf(streamState.complete_read_at),
      isMoved: sql<boolean>`${streamState.last_success_at} is null and exists (select from safety_sync.sources s
        where s.account_id = ${accountId} and s.moved_at is not null)`,
    })
    .from(streamState)
    .where(and(eq(streamState.account_id, accountId), eq(streamState.stream, stream)));
  if (row === undefined) return NO_STATE;
  const { checkedAgoMs, fresh_for_ms: freshForMs } = row;
  return {
    watermark: toMs(row.watermark),
    calculatedAt: toMs(row.calculated_at),
    // A request in the future is from before the clock of the database was put back.
    freshForMs: checkedAgoMs === null || checkedAgoMs < 0 ? 0 : Math.max(0, (freshForMs ?? 0) - checkedAgoMs),
    completeRead: {
      agoMs: row.completeAgoMs,
      tookMs: row.complete_read_ms ?? 0,
      difference: row.difference ?? 0,
    },
    isMoved: row.isMoved,
  };
}

/** The last time at which all the lists that the service offers were read. */
async function readListsTime(db: Queryable, accountId: string, lists: readonly string[]) {
  const [row] = await db.execute<{ at: string | null }>(sql`
    select min(read_at)::text as at from ${optionalMethods}
    where account_id = ${accountId} and method = any (${toArrayLiteral(lists)}::text[])
      and coalesce(code, '') <> all (${toArrayLiteral([...NOT_OFFERED])}::text[])`);
  return row?.at;
}

interface StateWrite {
  readonly change: StateChange;
  /** The difference that a complete read left; null: unknown. */
  readonly difference: number | null | undefined;
  /** The source was read to now. */
  readonly isFresh: boolean;
  /** Partitions that the success covers, and when; undefined: the stream has none. */
  readonly readPartitions: Readonly<Record<string, string>> | undefined;
  /** Optional lists of the stream: it succeeded when the offered ones were all read, however many of them in this run. */
  readonly lists?: readonly string[] | undefined;
}

/** undefined: the column stays as it is. */
const toColumn = (ms: number | null | undefined) => (ms === undefined ? undefined : toIso(ms));

/** Writes the results of a run; part of the transaction that stores its data. */
export async function writeStreamState(
  db: Queryable,
  { accountId, stream }: StreamKey,
  { change, difference = change.difference, isFresh, readPartitions, lists }: StateWrite,
): Promise<void> {
  const values = {
    watermark: toColumn(change.watermark),
    backfill_watermark: change.isPlanDone === true ? null : undefined,
    calculated_at: toColumn(change.calculatedAt),
    checked_at: change.freshForMs === undefined ? undefined : sql`statement_timestamp()`,
    fresh_for_ms: change.freshForMs,
    complete_read_ms: change.completeRead?.tookMs,
    difference,
    last_success_at: !isFresh
      ? undefined
      : lists === undefined
        ? sql`statement_timestamp()`
        : ((await readListsTime(db, accountId, lists)) ?? undefined),
    read_parts:
      readPartitions &&
      sql`coalesce(${streamState.read_parts}, '{}') || ${JSON.stringify(readPartitions)}::jsonb`,
  };
  if (Object.values(values).some((value) => value !== undefined))
    await db
      .update(streamState)
      .set(values)
      .where(and(eq(streamState.account_id, accountId), eq(streamState.stream, stream)));
}
