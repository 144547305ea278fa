/** What the Status is made of: the last read of the warehouse, and the state that only this process has. Pure. */
import {
  type AccountConfig,
  type OffReason,
  offReasonOf,
  type OffReasons,
} from '../../config/account-config.ts';
import type { Retry } from '../../engine/api/client.ts';
import type { AlertChannel } from '../../engine/control-tables/control-tables.ts';
import type { BackfillProgress } from '../../engine/reading/step.ts';
import { streamNamed } from '../../engine/streams/index.ts';
import type { StreamName } from '../../engine/streams/stream.ts';
import { MINUTE_MS } from '../../shared/time.ts';
import type { Refusal } from '../health/account-health.ts';
import type { AccountRows } from './read-account-rows.ts';
import type { AccountsRead, StreamFacts } from './read-accounts.ts';
import type { Volumes } from './read-volumes.ts';
import type { StorageRules } from './storage-rules.ts';

type Freshness = 'fresh' | 'stale' | 'never';

export interface StreamStatus extends StreamFacts {
  readonly isScheduled: boolean;
  /** Why the stream has no schedule. */
  readonly offReason: OffReason | null;
  readonly freshness: Freshness;
  /** The failed attempt after which its run waits or tries again. */
  readonly retry: Retry | null;
}

/** Time after its last success, in ms, from which a stream is stale. */
export const budgetOf = (stream: StreamName, budgetMinutes: number): number =>
  streamNamed(stream).staleAfterMs ?? budgetMinutes * MINUTE_MS;

/** While the service's cache is valid, no new data exists, so the stream counts as fresh. */
function freshnessOf(
  { stream, lastSuccessMs, currentUntilMs }: StreamFacts,
  nowMs: number,
  budgetMinutes: number,
): Freshness {
  if (lastSuccessMs === null) return 'never';
  const currentMs = Math.max(lastSuccessMs, currentUntilMs ?? lastSuccessMs);
  return nowMs - currentMs > budgetOf(stream, budgetMinutes) ? 'stale' : 'fresh';
}

const isOf = ({ method }: Retry, stream: StreamName): boolean => {
  const { method: own, optionalMethods = [] } = streamNamed(stream);
  return [own, ...optionalMethods].includes(method);
};

interface Judging {
  readonly offReasons: OffReasons;
  readonly nowMs: number;
  readonly freshnessBudgetMinutes: number;
  readonly retries?: readonly Retry[];
}

export function toStreamStatus(
  facts: StreamFacts,
  { offReasons, nowMs, freshnessBudgetMinutes, retries = [] }: Judging,
): StreamStatus {
  const offReason = offReasonOf(offReasons, facts);
  return {
    ...facts,
    isScheduled: offReason === null,
    offReason,
    freshness: freshnessOf(facts, nowMs, freshnessBudgetMinutes),
    retry: (facts.isRunning ? retries.find((one) => isOf(one, facts.stream)) : undefined) ?? null,
  };
}

interface PlannedRun {
  readonly stream: StreamName;
  readonly kind: 'sync' | 'reconcile';
  readonly atMs: number;
}

export type WorkerState = 'starting' | 'running' | 'stopping';

export interface ServiceLoad {
  readonly inFlight: number;
  readonly waiting: number;
}

/** The state of the alert channels. */
export interface AlertsStatus {
  /** Open alerts, sent or not yet sent. */
  readonly open: number;
  readonly channels: readonly {
    readonly name: AlertChannel;
    /** Alerts that were not accepted and will be retried. */
    readonly waiting: number;
    /** Why the last message was refused; null: it was accepted. */
    readonly problem: string | null;
  }[];
  /** Scheduled reports that failed at the newest attempt, with the error code. */
  readonly failedReports: readonly { readonly accountId: string; readonly code: string }[];
}

/** Why the database cannot be used, and since when by this process's clock. */
export interface DatabaseProblem {
  readonly code: string;
  readonly message: string;
  readonly advice: string;
  readonly sinceMs: number;
}

/** The last read of the warehouse. */
export interface WarehouseFacts {
  /** null: not read yet. */
  readonly accountsRead: AccountsRead | null;
  /** Rows of the one account that is shown in full. */
  readonly rows: AccountRows | null;
  readonly volumes: Volumes | null;
  /** null: the database responds. */
  readonly problem: DatabaseProblem | null;
}

export const NO_WAREHOUSE_STATE: WarehouseFacts = {
  accountsRead: null,
  rows: null,
  volumes: null,
  problem: null,
};

/** The state of the process. */
export interface ProcessFacts {
  readonly freshnessBudgetMinutes: number;
  readonly nowMs: number;
  readonly startedMs: number;
  readonly worker: WorkerState;
  readonly owner: string;
  /** What the migration waits for, in words; null: it does not wait. */
  readonly migrationWaits: string | null;
  /** Runs of this process. */
  readonly queue: { readonly slots: number; readonly running: number; readonly waiting: number };
  /** Without channels, no alerts are sent. */
  readonly alerts: AlertsStatus;
  readonly keeping: StorageRules;
}

/** An account and the state of its runner. */
export interface AccountFacts {
  readonly account: {
    readonly id: string;
    readonly offReasons: OffReasons;
    readonly config: Pick<AccountConfig, 'service' | 'equipmentTypes' | 'reportingTimezone'> & {
      readonly schedule: { readonly timezone: string };
    };
  };
  readonly health: { readonly refusals: readonly Refusal[] };
  /** Progress of this process's runs. */
  readonly progress: ReadonlyMap<StreamName, BackfillProgress>;
  /** Load of the service; null: no request was sent yet. */
  readonly pressure: ServiceLoad | null;
  /** Requests that failed and are sent again. */
  readonly retries: readonly Retry[];
}

/** Times are by this process's clock. */
export interface StatusFacts extends ProcessFacts {
  readonly warehouse: WarehouseFacts;
  /** One account, or all of them. */
  readonly accounts: readonly AccountFacts[];
  /** The next runs of one account that is shown in full, soonest first; null: the accounts are shown in short. */
  readonly nextRuns: readonly PlannedRun[] | null;
}
