/** What a run is asked for, what it works with, and how it ended. */
import type { ApiClient } from '../api/client.ts';
import type { SafetySyncError } from '../shared/errors.ts';
import type { Clock } from '../shared/time.ts';
import type { StreamDefinition, StreamName } from '../streams/stream.ts';
import { toInstant } from '../streams/time-text.ts';
import type { Database } from '../database/connection.ts';
import type { RunTrigger } from '../database/control-tables.ts';
import type { Removed, Retention } from '../database/retention.ts';
import type { RecordCounts } from '../database/record-counts.ts';
import type { CleanResult } from '../loading/clean-stored.ts';
import type { PrivacySettings } from './privacy.ts';
import { tellHolder } from '../database/lock-holders.ts';
import type { OnStatement } from '../database/watch-statements.ts';
import type { ReadOptions, SyncSettings } from '../reading/read-request.ts';
import type { BackfillProgress } from '../reading/step.ts';

export interface RunContext {
  readonly settings: SyncSettings;
  /** Absent: everything may be stored, unless somebody was forgotten. */
  readonly privacy?: PrivacySettings;
  /** Absent: everything is kept for ever. */
  readonly retention?: Retention;
  /** Among which a run finds its stream; default: the registry. */
  readonly streams?: readonly StreamDefinition[];
  readonly databaseUrl: string;
  /** For what is written outside of a run's own session. */
  readonly db: Database;
  /** Made when the first run needs it: putting stored records through again does not. */
  readonly api: () => ApiClient;
  readonly clock: Clock;
  /** Host and process, for `runs.owner`. */
  readonly owner: string;
  readonly signal: AbortSignal;
  readonly events: RunEvents;
}

/** What the caller may want to tell. */
export interface RunEvents {
  /** `holder`: the run or session that has the stream, in words. */
  readonly onWait?: (stream: StreamName, holder: string) => void;
  readonly onProgress?: (stream: StreamName, progress: BackfillProgress) => void;
  /** What was stored is in line with the privacy settings now. */
  readonly onCleaned?: (stream: StreamName, result: CleanResult) => void;
  /** What was older than its retention is gone; `failure`: why some of it may not be. */
  readonly onRemoved?: (stream: StreamName, removed: Removed, failure?: SafetySyncError) => void;
  readonly onDeadRuns?: (stream: StreamName, closed: number) => void;
  /** The run has its lock. */
  readonly onSession?: (stream: StreamName) => void;
  /** The run has its record in `runs`. */
  readonly onBegun?: (stream: StreamName) => void;
  /** Every statement of the run's session; absent: nothing is measured. */
  readonly onStatement?: OnStatement | undefined;
  /** The session is closed, however the run ended. */
  readonly onSessionEnd?: (stream: StreamName) => void;
}

export interface RunRequest extends ReadOptions {
  readonly stream: StreamName;
  readonly trigger: RunTrigger;
  readonly allowMassDelete: boolean;
  /** What to do while another run has the stream; default: a scheduled run skips, a manual one waits. */
  readonly whenBusy?: 'skip' | 'wait';
  /**
   * For workers that share a schedule, once the lock is had: skip when another one has begun the same work no longer
   * ago than these ms (by the database's clock).
   */
  readonly unlessBegunWithinMs?: () => number;
  /** Ask nothing; put the records that have open issues through again. */
  readonly retryIssues?: boolean;
  /** Ask nothing; mark the rows of this part deleted. */
  readonly retirePart?: string;
}

/** How a run is found in `safety_sync.runs`, and how far its stream was before and after it. */
export interface RunRecord {
  /** null: the run did not get as far as having a record. */
  readonly runId: number | null;
  /** ISO times. */
  readonly watermarkBefore: string | null;
  readonly watermarkAfter: string | null;
}

export const NO_RECORD: RunRecord = { runId: null, watermarkBefore: null, watermarkAfter: null };

export interface RunFigures {
  readonly record: RunRecord;
  readonly stream: StreamName;
  readonly counts: Readonly<RecordCounts>;
  readonly requests: number;
  readonly retries: number;
  /** Responses that said "rate limit exceeded". */
  readonly throttled: number;
  readonly durationMs: number;
  /** reconcile: changes that earlier runs should have stored; null where that cannot be said. */
  readonly repaired: number | null;
}

/** How a run ended. */
export type RunEnding =
  | { readonly outcome: 'succeeded'; readonly note: string | null }
  | {
      readonly outcome: 'skipped';
      readonly reason: string;
      readonly dueInMs?: number | undefined;
      /** Another run or worker has the stream, or has done this work already. */
      readonly isTaken?: boolean;
    }
  | { readonly outcome: 'failed'; readonly error: SafetySyncError };

export type RunResult = RunFigures & RunEnding;

export const failureOf = (result: RunResult): SafetySyncError | undefined =>
  result.outcome === 'failed' ? result.error : undefined;

/** The service refused the credentials: it would refuse every further request of the account, too. */
export function authFailureOf(result: RunResult): SafetySyncError | undefined {
  const error = failureOf(result);
  return error?.recovery === 'fail_run' ? error : undefined;
}

/** A run over single records says nothing of what the source has beside them. */
export const isOfSingleRecords = ({ retryIssues, onlyRecord }: RunRequest): boolean =>
  retryIssues === true || onlyRecord !== undefined;

export const isScheduled = ({ trigger }: RunRequest): boolean => trigger === 'schedule';

/** ms since 1970 as ISO time; null before the first watermark. */
export const watermarkText = (ms: number | null): string | null => (ms === null ? null : toInstant(ms));

/** Never rejects, because the wait goes on in any case. */
export async function announceWait(
  { db, events, settings: { accountId } }: Pick<RunContext, 'db' | 'events' | 'settings'>,
  stream: StreamName,
): Promise<void> {
  const { name } = await tellHolder(db, { accountId, stream }).catch(() => ({ name: 'another run' }));
  events.onWait?.(stream, name);
}
