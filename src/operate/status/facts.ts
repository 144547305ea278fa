/** What the Status is made of: the last read of the warehouse, and the state that only this process has. Pure. */
import { type OffReason, offReasonOf, type OffReasons } from '../../config/account-config.ts';
import type { AlertChannel } from '../../engine/control-tables/control-tables.ts';
import { streamNamed } from '../../engine/streams/index.ts';
import { IDENTITY_METHOD } from '../../engine/streams/optional-methods.ts';
import type { StreamName } from '../../engine/streams/stream.ts';
import { MINUTE_MS } from '../../shared/time.ts';
import type { Wait } from '../../shared/errors.ts';
import type { AccountsRead, StreamFacts } from './read-accounts.ts';

export interface StreamStatus extends StreamFacts {
  readonly isScheduled: boolean;
  /** Why the stream has no schedule. */
  readonly offReason: OffReason | null;
  readonly freshness: 'fresh' | 'stale' | 'never';
  /** The failed request that the run under way repeats; null: none, or unknown to this process. */
  readonly wait: Wait | null;
}

/** Time after its last success, in ms, from which a stream is stale. */
export const budgetOf = (stream: StreamName, budgetMinutes: number): number =>
  streamNamed(stream).staleAfterMs ?? budgetMinutes * MINUTE_MS;

interface Judging {
  readonly nowMs: number;
  readonly freshnessBudgetMinutes: number;
  readonly waits: readonly Wait[];
}

export function toStreamStatus(
  facts: StreamFacts,
  offReasons: OffReasons,
  { nowMs, freshnessBudgetMinutes, waits }: Judging,
): StreamStatus {
  const { stream, lastSuccessMs, currentUntilMs } = facts;
  const offReason = offReasonOf(offReasons, facts);
  // While the service's cache is valid, no new data exists, so the stream counts as fresh.
  const ageMs = nowMs - Math.max(lastSuccessMs ?? 0, currentUntilMs ?? 0);
  const isStale = ageMs > budgetOf(stream, freshnessBudgetMinutes);
  const freshness = lastSuccessMs === null ? 'never' : isStale ? 'stale' : 'fresh';
  const { method, optionalMethods = [] } = streamNamed(stream);
  const waiting = waits.find((one) => [method, ...optionalMethods, IDENTITY_METHOD].includes(one.method));
  const wait = (facts.isRunning ? waiting : undefined) ?? null;
  return { ...facts, isScheduled: offReason === null, offReason, freshness, wait };
}

export type WorkerState = 'starting' | 'running' | 'stopping';

/** The service refuses the credentials. Times are by this process's clock. */
export interface Refusal {
  readonly stream: StreamName;
  /** True: all streams of the account wait; false: the token lacks the permission for this one. */
  readonly holdsAll: boolean;
  readonly code: string;
  readonly advice: string;
  readonly sinceMs: number;
  readonly nextTryMs: number;
}

/** The state of the alert channels. */
export interface AlertsStatus {
  /** `problem`: why the last message was refused; null: it was accepted. Without channels, no alerts are sent. */
  readonly channels: readonly { readonly name: AlertChannel; readonly problem: string | null }[];
  /** Scheduled reports that failed at the newest attempt, with the error code. */
  readonly failedReports: readonly { readonly accountId: string; readonly code: string }[];
}

/** The last read of the warehouse. */
export interface WarehouseFacts {
  /** null: not read yet. */
  readonly accountsRead: AccountsRead | null;
  /** Why the database cannot be used, and since when by this process's clock; null: it responds. */
  readonly problem: {
    readonly code: string;
    readonly message: string;
    readonly advice: string;
    readonly sinceMs: number;
  } | null;
}
