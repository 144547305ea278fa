/** The request, the context and the result of a run; how a run ends, from the results of its reader and of the load. */
import type { ApiClient } from '../api/client.ts';
import type { SafetySyncError } from '../../shared/errors.ts';
import type { Clock } from '../../shared/time.ts';
import type { StreamDefinition, StreamName } from '../streams/stream.ts';
import type { Database } from '../database/connection.ts';
import type { RunTrigger } from '../control-tables/control-tables.ts';
import type { Removed, Retention } from '../history/retention.ts';
import { noCounts, type RecordCounts } from '../control-tables/record-counts.ts';
import type { CleanResult, PrivacySettings } from '../privacy/settings.ts';
import { describeHolder } from '../control-tables/lock-holders.ts';
import { openStreamSession, type StreamSession } from '../control-tables/stream-session.ts';
import type { OnStatement } from '../database/watch-statements.ts';
import type { ReadOptions, SyncSettings } from '../reading/read-request.ts';
import { isWholeTime, WHOLE_TIME } from '../reading/creation-time.ts';
import type { BackfillProgress, ReadOutcome } from '../reading/step.ts';

export interface RunContext {
  readonly settings: SyncSettings;
  /** Absent: everything may be stored, unless the account has forgotten people. */
  readonly privacy?: PrivacySettings;
  /** Absent: everything is kept for ever. */
  readonly retention?: Retention;
  /** The streams from which a run selects its own; default: the registry. */
  readonly streams?: readonly StreamDefinition[];
  readonly databaseUrl: string;
  /** For writes outside of a run's own session. */
  readonly db: Database;
  /** Created when the first run needs it: reading stored records again does not. */
  readonly api: () => ApiClient;
  readonly clock: Clock;
  /** Host and process, for `runs.owner`. */
  readonly owner: string;
  readonly signal: AbortSignal;
  readonly events: RunEvents;
}

/** Events that the caller may log. */
export interface RunEvents {
  /** `holder`: a description of the run or session that has the stream. */
  readonly onWait?: (stream: StreamName, holder: string) => void;
  readonly onProgress?: (stream: StreamName, progress: BackfillProgress) => void;
  /** `records`: the number of records that this run has read so far. */
  readonly onRead?: (stream: StreamName, records: number) => void;
  /** The stored data now complies with the privacy settings. */
  readonly onCleaned?: (stream: StreamName, result: CleanResult) => void;
  /** Rows older than their retention were deleted; `failure`: the reason why some of them may remain. */
  readonly onRemoved?: (stream: StreamName, removed: Removed, failure?: SafetySyncError) => void;
  readonly onDeadRuns?: (stream: StreamName, closed: number) => void;
  /** The run has its lock. */
  readonly onSession?: (stream: StreamName) => void;
  /** The run has its record in `runs`. */
  readonly onBegun?: (stream: StreamName) => void;
  /** Called after each statement of the run's session. Without it statements are not timed. */
  readonly onStatement?: OnStatement | undefined;
  /** The session is closed, however the run ended. */
  readonly onSessionEnd?: (stream: StreamName) => void;
}

export interface RunRequest extends ReadOptions {
  readonly stream: StreamName;
  readonly trigger: RunTrigger;
  readonly allowMassDelete?: boolean | undefined;
  /** The behaviour while another run has the stream; default: a scheduled run skips, a manual one waits. */
  readonly whenBusy?: 'skip' | 'wait';
  /**
   * For workers that share a schedule, after taking the lock: skip when another one has begun the same work no longer than
   * these ms ago (by the database's clock).
   */
  readonly unlessBegunWithinMs?: () => number;
  /** Sends no request; reads the stored records with open issues again. */
  readonly retryIssues?: boolean;
  /** Sends no request; marks the rows of this partition deleted. */
  readonly retirePartition?: string;
}

/** Identifies a run in `safety_sync.runs`, with the watermark of its stream before and after it. */
export interface RunRecord {
  /** null: the run ended before it had a record. */
  readonly runId: number | null;
  /** ISO times. */
  readonly watermarkBefore: string | null;
  readonly watermarkAfter: string | null;
}

export const NO_RECORD: RunRecord = { runId: null, watermarkBefore: null, watermarkAfter: null };

/** The work that a run has done. */
interface RunWork {
  readonly record: RunRecord;
  readonly counts: Readonly<RecordCounts>;
  /** reconcile: changes that earlier runs should have stored; null if this is unknown. */
  readonly repaired: number | null;
}

export const nothingDone = (): RunWork => ({ record: NO_RECORD, counts: noCounts(), repaired: null });

/** How a run ended. */
export type RunEnding =
  | { readonly outcome: 'succeeded'; readonly note: string | null }
  | {
      readonly outcome: 'skipped';
      readonly reason: string;
      readonly dueInMs?: number | undefined;
      /** Another run or worker has the stream, or has completed this work already. */
      readonly isTaken?: boolean;
    }
  | { readonly outcome: 'failed'; readonly error: SafetySyncError };

export type RunEnd = RunWork & RunEnding;

export type RunResult = RunEnd & {
  readonly stream: StreamName;
  readonly requests: number;
  readonly retries: number;
  /** Responses that said "rate limit exceeded". */
  readonly throttled: number;
  readonly durationMs: number;
};

export const runFailure = (result: RunResult): SafetySyncError | undefined =>
  result.outcome === 'failed' ? result.error : undefined;

/**
 * Returns the failure if the service refused the credentials, because it would refuse every further request of the account,
 * too.
 */
export function authFailureOf(result: RunResult): SafetySyncError | undefined {
  const error = runFailure(result);
  return error?.recovery === 'fail_run' ? error : undefined;
}

/** True if the run requests single records: its success does not show that the stream is complete. */
export const isOfSingleRecords = ({ retryIssues, onlyRecord }: RunRequest): boolean =>
  retryIssues === true || onlyRecord !== undefined;

export const isScheduled = ({ trigger }: RunRequest): boolean => trigger === 'schedule';

type Notes = readonly (string | null | undefined)[];

const joined = (notes: Notes): string | null => notes.flatMap((note) => note ?? []).join('; ') || null;

interface Remarks {
  /** The failure of the load. */
  readonly failure?: SafetySyncError | null;
  readonly notes?: Notes;
}

export function toEnding(outcome: ReadOutcome, { failure = null, notes = [] }: Remarks = {}): RunEnding {
  if (outcome.kind === 'skipped') {
    return { outcome: 'skipped', reason: joined([outcome.reason, ...notes]) ?? '', dueInMs: outcome.dueInMs };
  }
  const error = outcome.failure ?? failure;
  return error === null
    ? { outcome: 'succeeded', note: joined([outcome.note, ...notes]) }
    : { outcome: 'failed', error };
}

const readsWholeStream = (request: RunRequest): boolean =>
  !isOfSingleRecords(request) &&
  request.retirePartition === undefined &&
  isWholeTime(request.range ?? WHOLE_TIME);

/** At a new address of the service the first run reads everything, and deletes what that address lacks, without the guard. */
export const afterMove = (request: RunRequest): RunRequest =>
  readsWholeStream(request) ? { ...request, kind: 'reconcile', allowMassDelete: true } : request;

/** Whether the run makes the stream fresh: a range of creation time does not. */
export const isFreshAfter = ({ outcome }: RunEnding, request: RunRequest): boolean =>
  outcome === 'succeeded' && readsWholeStream(request);

/** Opens the session of a stream, and announces the holder of its lock if it waits for it. */
export async function openSession(
  { databaseUrl, db, events, signal, settings: { accountId } }: RunContext,
  stream: StreamName,
  whenBusy: 'skip' | 'wait',
): Promise<StreamSession | undefined> {
  const scope = { accountId, stream };
  const { onStatement } = events;
  const announce = async (): Promise<void> => {
    // Never rejects, because the wait goes on in any case.
    const { name } = await describeHolder(db, scope).catch(() => ({ name: 'another run' }));
    events.onWait?.(stream, name);
  };
  const onWait = (): void => void announce();
  return await openStreamSession({ databaseUrl, ...scope, whenBusy, signal, onStatement, onWait });
}
