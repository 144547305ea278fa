/** The Status: all data that operators see, for one account or thousands. Times are ms since 1970; null: never, or unknown. */
import type { OffReason } from '../../config/account-config.ts';
import type { IssueKind, StreamName } from '../../engine/streams/stream.ts';
import type { AlertChannel, RunStatus, RunTrigger } from '../../engine/control/control-tables.ts';
import type { RunKind } from '../../engine/streams/state.ts';
import type { KeepingStatus, UncleanedStream } from './keeping.ts';
import type { StreamFacts } from './read-accounts.ts';
import type { DayVolume } from './read-volumes.ts';
import type { Outage } from '../health/outage-log.ts';
import type { OpenCircuit } from '../health/circuit-breaker.ts';

/** States from best to worst. */
export type Level = 'good' | 'busy' | 'warning' | 'bad';

export interface Verdict {
  readonly level: Level;
  /** One sentence that answers "is everything fresh?". */
  readonly sentence: string;
  /** Further reasons, one plain sentence each. */
  readonly details: readonly string[];
}

export interface RunSummary {
  readonly runId: number;
  readonly stream: StreamName;
  readonly kind: RunKind;
  readonly trigger: RunTrigger;
  readonly status: RunStatus;
  readonly startedMs: number;
  /** Up to now, for a running run. */
  readonly durationMs: number;
  readonly requests: number;
  readonly retries: number;
  readonly read: number;
  readonly inserted: number;
  readonly updated: number;
  readonly deleted: number;
  readonly rejected: number;
  readonly repaired: number | null;
  readonly note: string | null;
  readonly error: { readonly code: string; readonly message: string; readonly advice: string } | null;
  readonly requestId: string | null;
  readonly owner: string;
}

export interface ProgressStatus {
  readonly records: number;
  /** null: the service sends no total. */
  readonly total: number | null;
}

export interface RunningStatus extends RunSummary {
  readonly progress: ProgressStatus;
}

export type Freshness = 'fresh' | 'stale' | 'never';

/** The state of a stream in a list of accounts. */
export interface StreamStatus extends StreamFacts {
  readonly isScheduled: boolean;
  readonly freshness: Freshness;
}

/** The state of a stream on the page of one account. */
export interface StreamDetail extends Omit<StreamStatus, 'lastRun'> {
  /** Why the stream has no schedule. */
  readonly offReason: OffReason | null;
  /** The newest change that is stored: the watermark, or the time of the training report. */
  readonly currentToMs: number | null;
  readonly rows: number | null;
  /** When the rows were counted. */
  readonly rowsCountedMs: number | null;
  readonly isEstimate: boolean;
  readonly nextRunMs: number | null;
  readonly running: RunningStatus | null;
  readonly lastRun: RunSummary | null;
  /** Oldest first. */
  readonly recentRuns: readonly RunSummary[];
  /** Changes that reconciliations found and earlier syncs had missed, over the recent runs. */
  readonly repaired: number;
}

export interface IssueSummary {
  readonly stream: StreamName;
  readonly kind: IssueKind;
  readonly field: string | null;
  readonly count: number;
  readonly problem: string;
  readonly firstSeenMs: number;
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
  /** Runs of accounts whose service does not respond; they use no slot of other accounts. */
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
}

export interface OtherTimezone {
  readonly own: string;
  /** Rows in the warehouse. */
  readonly stored: string;
}

/** Details on the page of one account only. */
export interface AccountDetail {
  /** Stored equipment of types that are not configured, in words; null: none. */
  readonly unread: string | null;
  readonly uncleaned: readonly UncleanedStream[];
  /**
   * The stored reporting time zone differs from this worker's setting, because another program wrote it; null: it does not
   * differ.
   */
  readonly otherTimezone: OtherTimezone | null;
  readonly timezone: string;
  readonly streams: readonly StreamDetail[];
  readonly running: readonly RunningStatus[];
  /** Newest first. */
  readonly recentRuns: readonly RunSummary[];
  readonly days: readonly DayVolume[];
  readonly issues: readonly IssueSummary[];
  /** Soonest first. */
  readonly nextRuns: readonly PlannedRun[];
}

export interface AccountStatus {
  readonly accountId: string;
  readonly verdict: Verdict;
  /** No problem of the account itself prevents relying on its data. */
  readonly isReady: boolean;
  /** The reasons against it, in plain words. */
  readonly notReady: readonly string[];
  readonly openIssues: number;
  readonly streams: readonly StreamStatus[];
  readonly outages: readonly Outage[];
  readonly openCircuits: readonly OpenCircuit[];
  /** null: no request was sent to its service yet. */
  readonly service: ServiceLoad | null;
  /** undefined: the account is one of several. */
  readonly detail: AccountDetail | undefined;
}

/** The state of the process, for any account. */
export interface ProcessStatus {
  readonly version: string;
  readonly freshnessBudgetMinutes: number;
  readonly nowMs: number;
  readonly startedMs: number;
  readonly worker: WorkerState;
  readonly owner: string;
  readonly isSchedulerAlive: boolean;
  readonly isReady: boolean;
  /** Reasons in plain words; with a single account, its own are included. */
  readonly notReady: readonly string[];
  readonly verdict: Verdict;
  readonly database: DatabaseStatus;
  /** The outage of the shared database. */
  readonly outages: readonly Outage[];
  readonly queue: QueueStatus;
  /** Without channels, no alerts are sent. */
  readonly alerts: AlertsStatus;
  readonly keeping: KeepingStatus;
}

export interface Status extends ProcessStatus {
  /** Accounts on all pages. */
  readonly accountCount: number;
  readonly counts: Readonly<Record<Level, number>>;
  /** Worst first, then by name. */
  readonly accounts: readonly AccountStatus[];
}

/** One page of the accounts of a Status. */
export interface StatusPart extends Status {
  /** Page numbers start at 1. */
  readonly page: number;
  readonly pages: number;
}

/** The counts still cover all accounts. */
export function pageOf(status: Status, page: number, size: number): StatusPart {
  const pages = Math.max(1, Math.ceil(status.accounts.length / size));
  const at = Math.min(Math.max(1, page), pages);
  return { ...status, accounts: status.accounts.slice((at - 1) * size, at * size), page: at, pages };
}

/** A Status of one account, as the page of that account shows it. */
export interface SingleStatus extends Omit<Status, 'accounts'>, AccountDetail {
  readonly accountId: string;
  readonly openCircuits: readonly OpenCircuit[];
  readonly service: ServiceLoad | null;
}

/** Undefined if there are several accounts, or if the account was not read in full. */
export function singleOf({ accounts, ...process }: Status): SingleStatus | undefined {
  const [account] = accounts;
  if (process.accountCount !== 1 || account?.detail == null) return undefined;
  const { accountId, outages, openCircuits, service, detail } = account;
  return {
    ...process,
    accountId,
    outages: [...process.outages, ...outages],
    openCircuits,
    service,
    ...detail,
  };
}
