/** The Status: all data that operators see, for one account or thousands. Times are ms since 1970; null: never, or unknown. */
import { adviceOf } from '../../shared/errors.ts';
import type { OffReason } from '../../config/account-config.ts';
import type { StreamName } from '../../engine/streams/stream.ts';
import type { AlertChannel } from '../../engine/control-tables/control-tables.ts';
import type { IssueGroup, Progress } from './read-account-rows.ts';
import type { StreamFacts } from './read-accounts.ts';
import type { DayVolume } from './read-volumes.ts';
import type { RunSummary } from './run-summary.ts';
import type { Differences, StorageRules } from './storage-rules.ts';
import type { Outage } from '../health/outage-log.ts';
import type { OpenCircuit } from '../health/circuit-breaker.ts';

/** States from best to worst. */
export type Level = 'good' | 'busy' | 'warning' | 'bad';

interface Verdict {
  readonly level: Level;
  /** One sentence that answers "is everything fresh?". */
  readonly sentence: string;
  /** Further reasons, one plain sentence each. */
  readonly details: readonly string[];
}

export interface RunningRun extends RunSummary {
  readonly progress: Progress;
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
    ...(heldUpBy === undefined
      ? []
      : [`runs of ${stream} are held up, because its lock is held by ${heldUpBy}`]),
    ...(code === undefined
      ? []
      : [
          `the last reconcile of ${stream} failed (${code}), and syncs do not do its work. ${adviceOf(code)}`,
        ]),
  ]);
}

/** The state of a stream on the page of one account. */
export interface StreamDetail extends Omit<StreamStatus, 'lastRun' | 'running'> {
  /** Live rows that the last success did not bring up to date, because their equipment type is not configured. */
  readonly unreadRows: number;
  /** The newest change that is stored: the watermark, or the time of the training report. */
  readonly currentToMs: number | null;
  readonly rows: number | null;
  /** When the rows were counted. */
  readonly rowsCountedMs: number | null;
  readonly isEstimate: boolean;
  readonly nextRunMs: number | null;
  readonly running: RunningRun | null;
  readonly lastRun: RunSummary | null;
  /** Oldest first. */
  readonly recentRuns: readonly RunSummary[];
  /** Changes that reconciliations found and earlier syncs had missed, over the recent runs. */
  readonly repaired: number;
}

export interface PlannedRun {
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
  readonly concurrencyNow: number;
  readonly coolingUntilMs: number | null;
}

/** Runs of this process that are active or wait for a slot. */
export interface QueueStatus {
  readonly slots: number;
  readonly running: number;
  /** Runs of accounts with a service that does not respond; they use no slot of other accounts. */
  readonly unhealthy: number;
  readonly waiting: number;
  readonly longestWaitMs: number;
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

/** Details on the page of one account only. */
export interface AccountDetail extends Differences {
  readonly timezone: string;
  readonly streams: readonly StreamDetail[];
  readonly running: readonly RunningRun[];
  /** Newest first. */
  readonly recentRuns: readonly RunSummary[];
  readonly days: readonly DayVolume[];
  readonly issues: readonly IssueGroup[];
  /** Soonest first. */
  readonly nextRuns: readonly PlannedRun[];
}

export interface AccountStatus extends Judgement {
  readonly accountId: string;
  readonly openIssues: number;
  readonly streams: readonly StreamStatus[];
  readonly outages: readonly Outage[];
  readonly openCircuits: readonly OpenCircuit[];
  /** null: no request was sent to its service yet. */
  readonly service: ServiceLoad | null;
  /** Present when the account was read in full. */
  readonly detail?: AccountDetail;
}

/** The judgement of the process or of one account. */
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
  readonly isSchedulerAlive: boolean;
  readonly database: DatabaseStatus;
  /** The outage of the shared database. */
  readonly outages: readonly Outage[];
  readonly queue: QueueStatus;
  /** Without channels, no alerts are sent. */
  readonly alerts: AlertsStatus;
  readonly keeping: StorageRules;
}

/** The judgement of a single account includes that of the process. */
export interface Status extends ProcessStatus, Judgement {
  /** All accounts, also those on other pages. */
  readonly accountCount: number;
  readonly counts: Readonly<Record<Level, number>>;
  /** Worst first, then by name. */
  readonly accounts: readonly AccountStatus[];
  /** Where `accounts` are one page of several; page numbers start at 1. */
  readonly page?: number;
  readonly pages?: number;
}

/** One page of the accounts. The counts still cover all accounts. */
export function pageOf(status: Status, page: number, size: number): Status {
  const pages = Math.max(1, Math.ceil(status.accounts.length / size));
  const at = Math.min(Math.max(1, page), pages);
  return { ...status, accounts: status.accounts.slice((at - 1) * size, at * size), page: at, pages };
}
