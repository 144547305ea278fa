/** Reads and writes `safety_sync.stream_state`. */
import { type SQL, sql } from 'drizzle-orm';
import { toIso } from '../../shared/time.ts';
import type { StreamName } from '../streams/stream.ts';
import type { Queryable } from '../database/connection.ts';
import { toArrayLiteral } from '../database/array-literal.ts';
import { agoOf, msOf } from '../database/sql-names.ts';
import { NOT_OFFERED } from '../streams/optional-methods.ts';
import { isOf, type StreamKey, streamState } from './control-tables.ts';
import { NO_STATE, type StateChange, type StreamState } from '../streams/state.ts';

/** Before the first run of a stream: see `KNOWN_STREAMS`. */
export async function recordStream(db: Queryable, accountId: string, stream: StreamName): Promise<void> {
  await db.insert(streamState).values({ account_id: accountId, stream }).onConflictDoNothing();
}

type StateRow = Omit<StreamState, 'completeRead'> & StreamState['completeRead'];

/** `NO_STATE` itself when there is no row. */
export async function readStreamState(db: Queryable, key: StreamKey): Promise<StreamState> {
  // A request in the future is from before the clock of the database was put back.
  const [row] = await db.execute<StateRow & Record<string, unknown>>(sql`
    select ${msOf('watermark')} as watermark, ${msOf('calculated_at')} as "calculatedAt",
      case when checked_at <= clock_timestamp() then greatest(0, coalesce(fresh_for_ms, 0) - ${agoOf('checked_at')}) else 0 end as "freshForMs",
      ${agoOf('complete_read_at')} as "agoMs", coalesce(complete_read_ms, 0)::float8 as "tookMs",
      coalesce(difference, 0)::float8 as difference, last_success_at is null and exists (
        select from safety_sync.sources s where s.account_id = ${key.accountId} and s.moved_at is not null) as "isMoved"
    from ${streamState} where ${isOf(key)}`);
  if (row === undefined) return NO_STATE;
  const { agoMs, tookMs, difference, ...state } = row;
  return { ...state, completeRead: { agoMs, tookMs, difference } };
}

/** The last time at which all the lists that the service offers were read; now while it offers none. */
const whenListsWereRead = (accountId: string, lists: readonly string[]): SQL => sql`coalesce((
  select min(m.read_at) from safety_sync.optional_methods m
  where m.account_id = ${accountId} and m.method = any (${toArrayLiteral(lists)}::text[])
    and coalesce(m.code, '') <> all (${toArrayLiteral([...NOT_OFFERED])}::text[])), statement_timestamp())`;

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
  key: StreamKey,
  { change, difference = change.difference, isFresh, readPartitions, lists }: StateWrite,
): Promise<void> {
  const now = sql`statement_timestamp()`;
  const values = {
    watermark: toColumn(change.watermark),
    backfill_watermark: change.isPlanDone === true ? null : undefined,
    calculated_at: toColumn(change.calculatedAt),
    checked_at: change.freshForMs === undefined ? undefined : now,
    fresh_for_ms: change.freshForMs,
    complete_read_ms: change.completeRead?.tookMs,
    difference,
    last_success_at: isFresh ? (lists ? whenListsWereRead(key.accountId, lists) : now) : undefined,
    read_parts:
      readPartitions &&
      sql`coalesce(${streamState.read_parts}, '{}') || ${JSON.stringify(readPartitions)}::jsonb`,
  };
  if (Object.values(values).some((value) => value !== undefined))
    await db.update(streamState).set(values).where(isOf(key));
}
