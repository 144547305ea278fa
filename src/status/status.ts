/** The one value that everything an operator sees is made of. Times are ms since 1970; null: never, or not known. */
import type { OffReason } from '../config/account-config.ts';
import type { Freshness } from './freshness.ts';
import type { IssueKind, StreamName } from '../streams/stream.ts';
import type { RunKind, RunStatus, RunTrigger } from '../database/control-tables.ts';
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

export interface StreamReport {
  readonly stream: StreamName;
  readonly isScheduled: boolean;
  /** Why it is not scheduled. */
  readonly offReason: OffReason | null;
  readonly freshness: Freshness;
  readonly lastSuccessMs: number | null;
  /** Up to when the service would answer the same (its cache of the training calculation): fresh until then. */
  readonly currentUntilMs: number | null;
  /** How far the data reaches: the watermark, or the time of the training calculation. */
  readonly currentToMs: number | null;
  readonly watermarkMs: number | null;
  readonly rows: number | null;
  /** When they were counted. */
  readonly rowsCountedMs: number | null;
  readonly isEstimate: boolean;
  readonly openIssues: number;
  readonly nextRunMs: number | null;
  readonly running: RunningReport | null;
  readonly lastRun: RunReport | null;
  /** Oldest first. */
  readonly recentRuns: readonly RunReport[];
  /** Changes that sweeps found which a sync should have brought, over the recent runs. */
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
  /** It answers, but not as soon as it is looked at. */
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
  /** Of those, the ones whose service does not answer; their slots are given to others. */
  readonly unhealthy: number;
  readonly waiting: number;
  readonly longestWaitMs: number;
}

export interface Status {
  readonly version: string;
  readonly accountId: string;
  readonly timezone: string;
  readonly freshnessBudgetMinutes: number;
  readonly nowMs: number;
  readonly startedMs: number;
  readonly worker: WorkerState;
  readonly owner: string;
  readonly isSchedulerAlive: boolean;
  readonly isReady: boolean;
  /** Why not, in plain words. */
  readonly notReady: readonly string[];
  readonly verdict: Verdict;
  readonly database: DatabaseReport;
  readonly outages: readonly Outage[];
  readonly openCircuits: readonly OpenCircuit[];
  readonly service: PressureReport;
  readonly queue: QueueReport;
  readonly streams: readonly StreamReport[];
  readonly running: readonly RunningReport[];
  /** Newest first. */
  readonly recentRuns: readonly RunReport[];
  readonly days: readonly DayVolume[];
  readonly issues: readonly IssueReport[];
  /** Soonest first. */
  readonly nextRuns: readonly NextRunReport[];
}

/** `startedMs` is a time, `durationMs` is not. */
const isTime = (name: string): boolean =>
  name.endsWith('Ms') && name !== 'durationMs' && name !== 'longestWaitMs';

/** For JSON: names as everywhere else outside (`started_at`, `duration_ms`), times as ISO texts. */
export function toJsonStatus(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(toJsonStatus);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, one]: [string, unknown]) => {
      const isoTime =
        isTime(name) && typeof one === 'number' ? new Date(one).toISOString() : toJsonStatus(one);
      return [toJsonName(name), isoTime];
    }),
  );
}

function toJsonName(name: string): string {
  const named = name === 'atMs' ? 'at' : isTime(name) ? name.replace(/(At)?Ms$/, 'At') : name;
  return named.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

/** Takes secrets out of every text, wherever it came from. */
export function blotStatus<Value>(status: Value, blot: (text: string) => string): Value {
  const clean = (value: unknown): unknown => {
    if (typeof value === 'string') return blot(value);
    if (Array.isArray(value)) return value.map(clean);
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, clean(one)]));
  };
  return clean(status) as Value;
}
