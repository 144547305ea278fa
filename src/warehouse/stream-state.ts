/** Reads and writes `safety_sync.stream_state`. */
import { and, eq, sql } from 'drizzle-orm';
import type { StreamName } from '../streams/stream.ts';
import type { Queryable } from './connection.ts';
import { streamState } from './control-tables.ts';
import type { KeylessMemory } from './keyless.ts';

/** Times in ms since 1970. */
export interface StreamState {
  /** The service's time: every change that it had made up to here is stored. */
  readonly watermarkMs: number | null;
  /** `last_updated` of the newest calculation that was stored. */
  readonly calculatedAtMs: number | null;
  readonly check: CalculationCheck | null;
  readonly keyless: KeylessMemory | null;
}

/** The last time that a calculation was asked for. */
export interface CalculationCheck {
  /** By the worker's clock. */
  readonly atMs: number;
  /** ms that have passed since, by the database's clock; negative when that clock went back. */
  readonly agoByDatabaseMs: number;
  /** How long after the check the calculation cannot have changed. */
  readonly freshForMs: number;
}

export interface StateChange {
  readonly watermarkMs?: number | null;
  readonly calculatedAtMs?: number | null;
  readonly check?: { readonly atMs: number; readonly freshForMs: number };
}

export const NO_STATE: StreamState = {
  watermarkMs: null,
  calculatedAtMs: null,
  check: null,
  keyless: null,
};

const toMs = (instant: string | null): number | null => (instant === null ? null : Date.parse(instant));
const toText = (ms: number | null): string | null => (ms === null ? null : new Date(ms).toISOString());

export async function readStreamState(
  db: Queryable,
  accountId: string,
  stream: StreamName,
): Promise<StreamState> {
  const [row] = await db
    .select({
      watermark: streamState.watermark,
      calculated_at: streamState.calculated_at,
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
    watermarkMs: toMs(row.watermark),
    calculatedAtMs: toMs(row.calculated_at),
    keyless: row.keyless === null ? null : (JSON.parse(row.keyless) as KeylessMemory),
    check:
      atMs === null || row.ago === null || row.fresh_for_ms === null
        ? null
        : { atMs, agoByDatabaseMs: row.ago, freshForMs: row.fresh_for_ms },
  };
}

/** Writes what a run learned; part of the transaction that stores its data. */
export async function writeStreamState(
  db: Queryable,
  accountId: string,
  stream: StreamName,
  { change, succeeded }: { readonly change: StateChange; readonly succeeded: boolean },
): Promise<void> {
  const values = {
    ...(change.watermarkMs === undefined ? {} : { watermark: toText(change.watermarkMs) }),
    ...(change.calculatedAtMs === undefined ? {} : { calculated_at: toText(change.calculatedAtMs) }),
    ...(change.check === undefined
      ? {}
      : {
          checked_at: toText(change.check.atMs),
          checked_at_database: sql`statement_timestamp()`,
          fresh_for_ms: change.check.freshForMs,
        }),
    ...(succeeded ? { last_success_at: sql`statement_timestamp()` } : {}),
  };
  if (Object.keys(values).length === 0) return;
  await db
    .insert(streamState)
    .values({ account_id: accountId, stream, ...values })
    .onConflictDoUpdate({ target: [streamState.account_id, streamState.stream], set: values });
}
