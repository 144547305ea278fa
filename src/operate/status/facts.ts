/** The sources of the Status: the last read of the warehouse, and the state that only this process has. Pure. */
import type { AccountConfig } from '../../config/account-config.ts';
import { streamNamed } from '../../engine/streams/index.ts';
import { IDENTITY_METHOD } from '../../engine/streams/optional-methods.ts';
import type { StreamName } from '../../engine/streams/stream.ts';
import { MINUTE_MS } from '../../shared/time.ts';
import type { SafetySyncError, Wait } from '../../shared/errors.ts';
import type { AccountsRead, StreamFacts } from './read-accounts.ts';

export type StreamStatus = Readonly<ReturnType<typeof toStreamStatus>>;

/** Time after its last success, in ms, from which a stream is stale. */
export const budgetOf = (stream: StreamName, budgetMinutes: number): number =>
  streamNamed(stream).staleAfterMs ?? budgetMinutes * MINUTE_MS;

/** An account, and what is not in its rows. */
export interface JudgedAccount {
  readonly id: string;
  readonly config: Pick<AccountConfig, 'service' | 'schedule' | 'equipmentTypes'>;
  /** Refusals that this process has met. */
  readonly refusals?: readonly Refusal[];
  /** Requests that this process repeats. */
  readonly waits?: readonly Wait[];
  /** How stored data differs from the settings, one sentence each. */
  readonly differences?: readonly string[];
}

export interface Judging {
  /** By the database's clock. */
  readonly nowMs: number;
  readonly freshnessBudgetMinutes: number;
  readonly isDatabaseAway?: boolean;
  /** Error codes of scheduled reports with a failed last attempt, by account. */
  readonly failedReports: ReadonlyMap<string, string>;
}

/** Why a stream is not synced by a schedule, so it is neither stale nor failed; null: it is. */
export function offReasonOf(
  { schedule, equipmentTypes }: Pick<AccountConfig, 'schedule' | 'equipmentTypes'>,
  { stream, isOffered, lastSuccessMs }: Pick<StreamFacts, 'stream' | 'isOffered' | 'lastSuccessMs'>,
) {
  if ((schedule.streams[stream] ?? null) === null) return 'not scheduled';
  if (isOffered) return null;
  if (streamNamed(stream).partitionedBy === undefined) return 'not offered';
  // Where the service does not list them, and none is stored.
  return equipmentTypes.length === 0 && lastSuccessMs === null ? 'no equipment types' : null;
}

export function toStreamStatus(
  facts: StreamFacts,
  { config, waits = [] }: JudgedAccount,
  { nowMs, freshnessBudgetMinutes }: Judging,
) {
  const { stream, lastSuccessMs, currentUntilMs } = facts;
  const offReason = offReasonOf(config, facts);
  // While the service's cache is valid, no new data exists, so the stream counts as fresh.
  const ageMs = nowMs - Math.max(lastSuccessMs ?? 0, currentUntilMs ?? 0);
  const isStale = facts.hasList && ageMs > budgetOf(stream, freshnessBudgetMinutes);
  const { method, optionalMethods = [] } = streamNamed(stream);
  const waiting = waits.find((one) => [method, ...optionalMethods, IDENTITY_METHOD].includes(one.method));
  return {
    ...facts,
    isScheduled: offReason === null,
    offReason,
    freshness: lastSuccessMs === null ? 'never' : isStale ? 'stale' : 'fresh',
    /** The failed request that the run under way repeats; null: none, or unknown to this process. */
    wait: (facts.isRunning ? waiting : undefined) ?? null,
  } as const;
}

export type WorkerState = 'starting' | 'running' | 'stopping';

/** The service refuses the credentials. Times are by this process's clock. */
export interface Refusal {
  /** The stream for which the token lacks the permission; empty: all streams of the account wait. */
  readonly subject: string;
  readonly code: string;
  readonly advice: string;
  readonly sinceMs: number;
  readonly nextTryMs: number;
}

/** The database cannot be used, or cut off what was under way. */
export const isOutage = ({ code }: SafetySyncError): boolean =>
  code === 'database_unreachable' || code === 'lock_lost';

/** The last read of the warehouse. */
export interface WarehouseFacts {
  /** null: not read yet. */
  readonly accountsRead: AccountsRead | null;
  /** Why the database cannot be used, and since when by this process's clock; null: it responds. */
  readonly problem:
    (Pick<SafetySyncError, 'code' | 'message' | 'advice'> & { readonly sinceMs: number }) | null;
}

export type AlertChannel = 'webhook' | 'mail';

export interface StatusFacts extends Pick<Judging, 'freshnessBudgetMinutes' | 'failedReports'> {
  /** By this process's clock. */
  readonly nowMs: number;
  readonly uptimeMs: number;
  readonly worker: WorkerState;
  readonly owner: string;
  /** The lock or session for which the migration waits, in words; null: it does not wait. */
  readonly migrationWaits: string | null;
  /** Without channels, no alerts are sent. `problem`: why the last message was refused; null: it was accepted. */
  readonly channels: readonly { readonly name: AlertChannel; readonly problem: string | null }[];
  readonly warehouse: WarehouseFacts;
  /** One account, or all of them. */
  readonly accounts: readonly JudgedAccount[];
}
