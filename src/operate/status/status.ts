/** The elements of a Status (build-status.ts), and the facts that it is made of. Times are ms since 1970; null: never, or unknown. */
import { adviceOf } from '../../shared/errors.ts';
import type { AccountConfig, OffReason, OffReasons } from '../../config/account-config.ts';
import type { BackfillProgress } from '../../engine/reading/step.ts';
import type { StreamName } from '../../engine/streams/stream.ts';
import type { AlertChannel } from '../../engine/control-tables/control-tables.ts';
import type { StreamFacts } from './read-accounts.ts';
import type { StorageRules } from './storage-rules.ts';
import type { Outage } from '../health/outage-log.ts';
import type { Refusal } from '../health/account-health.ts';
import type { WarehouseRead } from './read-account-rows.ts';
import type { Volumes } from './read-volumes.ts';

/** States from best to worst. */
export type Level = 'good' | 'busy' | 'warning' | 'bad';

interface Verdict {
  readonly level: Level;
  /** One sentence that answers "is everything fresh?". */
  readonly sentence: string;
  /** Further reasons, one plain sentence each. */
  readonly details: readonly string[];
}

export type Freshness = 'fresh' | 'stale' | 'never';

/** The state of a stream in a list of accounts. */
export interface StreamStatus extends StreamFacts {
  readonly isScheduled: boolean;
  /** Why the stream has no schedule. */
  readonly offReason: OffReason | null;
  /** The service refuses the credentials, for this stream at least, so nothing is requested. */
  readonly isRefused: boolean;
  readonly freshness: Freshness;
}

/** Sessions without a run that hold locks of streams, and reconciles that failed. */
export function streamProblems(
  streams: readonly Pick<StreamStatus, 'stream' | 'heldUpBy' | 'failedReconcile'>[],
): string[] {
  return streams.flatMap(({ stream, heldUpBy, failedReconcile: code }) => [
    ...(heldUpBy === undefined ? [] : [`runs of ${stream} are held up by ${heldUpBy}`]),
    ...(code === undefined
      ? []
      : [
          `the last reconcile of ${stream} failed (${code}), and syncs do not do its work. ${adviceOf(code)}`,
        ]),
  ]);
}

interface PlannedRun {
  readonly stream: StreamName;
  readonly kind: 'sync' | 'reconcile';
  readonly atMs: number;
}

export type WorkerState = 'starting' | 'running' | 'stopping';

export interface DatabaseStatus {
  readonly isUp: boolean;
  /** When the database was read; null: not yet. */
  readonly readAtMs: number | null;
  /** The database responds, but slower than the interval between reads. */
  readonly isSlow: boolean;
  /** The last read is older than the interval between reads. */
  readonly isOld: boolean;
  /** The last read is too old to be relied on. */
  readonly isTooOld: boolean;
  readonly problem: string | null;
  readonly pendingMigrations: number | null;
}

/** Whether the accounts are known: they are not read before the migrations. */
export const areAccountsRead = ({
  readAtMs,
  pendingMigrations,
}: Pick<DatabaseStatus, 'readAtMs' | 'pendingMigrations'>): boolean =>
  readAtMs !== null && (pendingMigrations ?? 0) === 0;

export interface ServiceLoad {
  readonly inFlight: number;
  readonly waiting: number;
}

/** Runs of this process that are active or wait for a slot. */
interface QueueStatus {
  readonly slots: number;
  readonly running: number;
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

/** Readiness, the reasons against it, and the verdict, for the process or for one account. */
export interface Judgement {
  /** The data can be relied on. */
  readonly isReady: boolean;
  /** The reasons against it, in plain words. */
  readonly notReady: readonly string[];
  readonly verdict: Verdict;
}

/** The state of the process. */
export interface ProcessStatus {
  readonly version: string;
  readonly freshnessBudgetMinutes: number;
  readonly nowMs: number;
  readonly startedMs: number;
  readonly worker: WorkerState;
  readonly owner: string;
  readonly database: DatabaseStatus;
  /** The outage of the shared database. */
  readonly outages: readonly Outage[];
  readonly queue: QueueStatus;
  /** Without channels, no alerts are sent. */
  readonly alerts: AlertsStatus;
  readonly keeping: StorageRules;
}

/** The last read of the warehouse. */
export interface WarehouseFacts {
  /** null: not read yet. */
  readonly accountsRead: WarehouseRead | null;
  readonly counted: Volumes | null;
  /** When the count started, by this process's clock; null: never. */
  readonly countedAtMs: number | null;
  /** Why the database is unreachable; null: it responds. A slow database counts as reachable: its last read is shown with its age. */
  readonly problem: string | null;
  /** The newest read timed out, though the database responds. */
  readonly isSlow: boolean;
}

export const NO_WAREHOUSE_STATE: WarehouseFacts = {
  accountsRead: null,
  counted: null,
  countedAtMs: null,
  problem: null,
  isSlow: false,
};

/** An account and the state of its runner. */
export interface AccountFacts {
  readonly account: {
    readonly id: string;
    readonly offReasons: OffReasons;
    readonly config: Pick<AccountConfig, 'service' | 'equipmentTypes' | 'reportingTimezone'> & {
      readonly schedule: { readonly timezone: string };
    };
  };
  readonly health: { readonly outage: Outage | undefined; readonly refusals: readonly Refusal[] };
  /** Progress of this process's runs. */
  readonly progress: ReadonlyMap<StreamName, BackfillProgress>;
  /** Load of the service; null: no request was sent yet. */
  readonly pressure: ServiceLoad | null;
}

/** Times are by this process's clock. */
export interface StatusFacts extends Omit<ProcessStatus, 'version' | 'database' | 'outages'> {
  readonly warehouse: WarehouseFacts;
  readonly databaseOutage: Outage | undefined;
  /** One account, or all of them. */
  readonly accounts: readonly AccountFacts[];
  /** The next runs of one account that is shown in full, soonest first; null: the accounts are shown in short. */
  readonly nextRuns: readonly PlannedRun[] | null;
}
