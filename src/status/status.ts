/**
 * The one value that everything an operator sees is made of: a list of accounts, of one or of thousands. Times are ms since
 * 1970; null: never, or not known.
 */
import type { OffReason } from '../config/account-config.ts';
import type { IssueKind, StreamName } from '../streams/stream.ts';
import type { AlertChannel, RunStatus, RunTrigger } from '../database/control-tables.ts';
import type { RunKind } from '../streams/state.ts';
import type { KeepingReport, UncleanedStream } from './keeping.ts';
import type { StreamFacts } from './read-accounts.ts';
import type { DayVolume } from './read-volumes.ts';
import type { Outage } from '../health/outage-log.ts';
import type { OpenCircuit } from '../health/circuit-breaker.ts';

/** How it stands, from best to worst. */
export type Level = 'good' | 'busy' | 'warning' | 'bad';

export interface Verdict {
  readonly level: Level;
  /** The answer to "is everything fresh?", in a sentence. */
  readonly sentence: string;
  /** More of the same, one plain sentence each. */
  readonly details: readonly string[];
}

export interface RunReport {
  readonly runId: number;
  readonly stream: StreamName;
  readonly kind: RunKind;
  readonly trigger: RunTrigger;
  readonly status: RunStatus;
  readonly startedMs: number;
  /** So far, for one that is running. */
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

export interface ProgressReport {
  readonly records: number;
  /** null: the service does not say. */
  readonly total: number | null;
}

export interface RunningReport extends RunReport {
  readonly progress: ProgressReport;
}

export type Freshness = 'fresh' | 'stale' | 'never';

/** A stream as it stands in a list of accounts. */
export interface StreamStatus extends StreamFacts {
  readonly isScheduled: boolean;
  readonly freshness: Freshness;
}

/** A stream of an account that is looked at by itself. */
export interface StreamDetail extends Omit<StreamStatus, 'lastRun'> {
  /** Why it is not scheduled. */
  readonly offReason: OffReason | null;
  /** How far the data reaches: the watermark, or the time of the training report. */
  readonly currentToMs: number | null;
  readonly rows: number | null;
  /** When they were counted. */
  readonly rowsCountedMs: number | null;
  readonly isEstimate: boolean;
  readonly nextRunMs: number | null;
  readonly running: RunningReport | null;
  readonly lastRun: RunReport | null;
  /** Oldest first. */
  readonly recentRuns: readonly RunReport[];
  /** Changes that reconciliations found and a sync should have brought, over the recent runs. */
  readonly repaired: number;
}

export interface IssueReport {
  readonly stream: StreamName;
  readonly kind: IssueKind;
  readonly field: string | null;
  readonly count: number;
  readonly problem: string;
  readonly firstSeenMs: number;
}

export interface NextRunReport {
  readonly stream: StreamName;
  readonly kind: 'sync' | 'reconcile';
  readonly atMs: number;
}

export type WorkerState = 'starting' | 'running' | 'stopping';

export interface DatabaseReport {
  readonly isUp: boolean;
  /** As of when everything that comes from the database is told; null: nothing was read yet. */
  readonly readAtMs: number | null;
  /** It responds, but not as soon as it is looked at. */
  readonly isSlow: boolean;
  /** What is known is older than the time between two looks. */
  readonly isOld: boolean;
  /** It is too old to be relied on. */
  readonly isTooOld: boolean;
  readonly problem: string | null;
  readonly pendingMigrations: number | null;
}

export interface PressureReport {
  readonly inFlight: number;
  readonly waiting: number;
  readonly concurrencyNow: number;
  readonly coolingUntilMs: number | null;
}

/** Runs of this process that are under way or wait for a slot. */
export interface QueueReport {
  readonly slots: number;
  readonly running: number;
  /** Of those, the ones whose service does not respond; their slots are given to others. */
  readonly unhealthy: number;
  readonly waiting: number;
  readonly longestWaitMs: number;
}

/** How people are told of what is wrong. */
export interface AlertsReport {
  /** What lasts, whether it was told or is to be told. */
  readonly open: number;
  readonly channels: readonly {
    readonly name: AlertChannel;
    /** Alerts that were not taken, and are tried again. */
    readonly waiting: number;
    /** Why the last one was not taken; null: it was. */
    readonly problem: string | null;
  }[];
}

export interface OtherTimezone {
  readonly own: string;
  /** In the warehouse. */
  readonly stored: string;
}

/** What is shown only of an account that is looked at by itself. */
export interface AccountDetail {
  /** Equipment of types that are not configured, in words; null: there is none. */
  readonly unread: string | null;
  readonly uncleaned: readonly UncleanedStream[];
  /** Days begin in another zone than this worker is set to, because another program has written it; null: they do not. */
  readonly otherTimezone: OtherTimezone | null;
  readonly timezone: string;
  readonly streams: readonly StreamDetail[];
  readonly running: readonly RunningReport[];
  /** Newest first. */
  readonly recentRuns: readonly RunReport[];
  readonly days: readonly DayVolume[];
  readonly issues: readonly IssueReport[];
  /** Soonest first. */
  readonly nextRuns: readonly NextRunReport[];
}

export interface AccountStatus {
  readonly accountId: string;
  readonly verdict: Verdict;
  /** Nothing of its own keeps its data from being relied on. */
  readonly isReady: boolean;
  /** Why not, in plain words. */
  readonly notReady: readonly string[];
  readonly openIssues: number;
  readonly streams: readonly StreamStatus[];
  readonly outages: readonly Outage[];
  readonly openCircuits: readonly OpenCircuit[];
  /** null: its service was not asked yet. */
  readonly service: PressureReport | null;
  /** undefined: the account is one of several. */
  readonly detail: AccountDetail | undefined;
}

/** What holds for the process, whichever account is looked at. */
export interface ProcessStatus {
  readonly version: string;
  readonly freshnessBudgetMinutes: number;
  readonly nowMs: number;
  readonly startedMs: number;
  readonly worker: WorkerState;
  readonly owner: string;
  readonly isSchedulerAlive: boolean;
  readonly isReady: boolean;
  /** Why not, in plain words; of a single account also what is its own. */
  readonly notReady: readonly string[];
  readonly verdict: Verdict;
  readonly database: DatabaseReport;
  /** Of what all accounts share: the database. */
  readonly outages: readonly Outage[];
  readonly queue: QueueReport;
  /** Without channels: nobody is told. */
  readonly alerts: AlertsReport;
  readonly keeping: KeepingReport;
}

export interface Status extends ProcessStatus {
  /** Of all pages of accounts. */
  readonly accountCount: number;
  readonly counts: Readonly<Record<Level, number>>;
  /** Worst first, then by name. */
  readonly accounts: readonly AccountStatus[];
}

/** A page of the accounts of a Status. */
export interface StatusPart extends Status {
  /** From 1. */
  readonly page: number;
  readonly pages: number;
}

/** The counts stay those of all accounts. */
export function pageOf(status: Status, page: number, size: number): StatusPart {
  const pages = Math.max(1, Math.ceil(status.accounts.length / size));
  const at = Math.min(Math.max(1, page), pages);
  return { ...status, accounts: status.accounts.slice((at - 1) * size, at * size), page: at, pages };
}

/** A list of one account as what is shown of it: its own, and what holds for the process. */
export interface SingleStatus extends Omit<Status, 'accounts'>, AccountDetail {
  readonly accountId: string;
  readonly openCircuits: readonly OpenCircuit[];
  readonly service: PressureReport | null;
}

/** Undefined where there are several accounts, or the one was not read in full. */
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
