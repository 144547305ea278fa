/** A run: what it is asked for, what it works with, and how it ends. */
import { createRequestMeter } from '../api/requests.ts';
import type { SafetySyncError } from '../../shared/errors.ts';
import { type StreamState, WHOLE_TIME } from '../streams/state.ts';
import type { StreamDefinition, StreamName } from '../streams/stream.ts';
import type { Database } from '../database/connection.ts';
import type { RunKey } from '../control-tables/control-tables.ts';
import type { Removed, Retention } from '../history/retention.ts';
import { noCounts, type RecordCounts, type RunEnding } from '../control-tables/runs.ts';
import type { Load } from '../loading/load.ts';
import type { Merged } from '../loading/merge.ts';
import type { PrivacySettings } from '../privacy/settings.ts';
import type { SessionContext, StreamSession } from '../control-tables/stream-session.ts';
import type { ReadOptions, Service, SyncSettings } from '../reading/read-request.ts';
import { isWholeTime } from '../reading/creation-time.ts';
import type { BackfillProgress, ReadOutcome } from '../reading/step.ts';

/** Common to all runs of an account. */
export interface RunContext extends SessionContext, Omit<Service, 'meter'> {
  readonly settings: SyncSettings;
  readonly privacy: PrivacySettings;
  readonly retention: Retention;
  /** For writes outside of a run's own session. */
  readonly db: Database;
  /** Host and process, for `runs.owner`. */
  readonly owner: string;
  readonly events: RunEvents;
}

/** Events that the caller may log. */
export type RunEvents = SessionContext['events'] & {
  /** `records`: the number of records that this run has read so far. `progress`: of what is read in slices. */
  readonly onRead?: (stream: StreamName, records: number, progress?: BackfillProgress) => void;
  /** The stored data now complies with the privacy settings. */
  readonly onCleaned?: (stream: StreamName, rowsChanged: number) => void;
  /** Rows older than their retention were deleted; `failure`: the reason why some of them may remain. */
  readonly onRemoved?: (stream: StreamName, removed: Removed, failure?: SafetySyncError) => void;
};

export interface RunRequest extends ReadOptions {
  readonly stream: StreamName;
  /** Sends no request; reads the stored records with open issues again. */
  readonly retryIssues?: true;
  /** Sends no request; marks the rows of this partition deleted. */
  readonly retirePartition?: string;
}

/** A run with its lock, its row and its load. */
export interface Run extends RunContext, RunKey {
  readonly request: RunRequest;
  readonly stream: StreamDefinition;
  readonly meter: RunMeter;
  readonly session: StreamSession;
  /** As stored before the run. */
  readonly state: StreamState;
  readonly load: Load;
}

/** Progress of a run, also of one that fails in the end. */
type RunMeter = ReturnType<typeof createRunMeter>;

export const createRunMeter = () => ({
  ...createRequestMeter(),
  /** null: it left no row in `safety_sync.runs`. */
  runId: null as number | null,
  /** Of its commits. */
  counts: noCounts() as Readonly<RecordCounts>,
  /** reconcile: changes that earlier runs should have stored; null if this is unknown. */
  repaired: null as number | null,
});

export type RunResult = RunEnding &
  Readonly<RunMeter> & { readonly stream: StreamName; readonly durationMs: number };

export const runFailure = (ending: RunEnding): SafetySyncError | undefined =>
  ending.outcome === 'failed' ? ending.error : undefined;

/** Only such a run makes the stream fresh: the success of one with single records, or a part, does not show that it is complete. */
export const readsWholeStream = ({ retryIssues, onlyRecord, retirePartition, range }: RunRequest): boolean =>
  (retryIssues ?? onlyRecord ?? retirePartition) === undefined && isWholeTime(range ?? WHOLE_TIME);

/** `merged`: what the load has added to the outcome. */
export function toEnding(outcome: ReadOutcome, merged?: Pick<Merged, 'note' | 'failure'>): RunEnding {
  const isSkipped = outcome.kind === 'skipped';
  const notes = [isSkipped ? outcome.reason : outcome.note, merged?.note];
  const text = notes.filter((one) => one != null).join('; ');
  const error = outcome.failure ?? merged?.failure ?? null;
  if (isSkipped && error === null) return { outcome: 'skipped', reason: text, dueInMs: outcome.dueInMs };
  return error === null ? { outcome: 'succeeded', note: text || null } : { outcome: 'failed', error };
}
