/** What the extract step of a stream is given and what it answers. */
import type { ApiClient } from '../api/client.ts';
import type { RequestMeter } from '../api/request-meter.ts';
import type { SafetySyncError } from '../shared/errors.ts';
import type { Clock } from '../shared/time.ts';
import type { StreamDefinition } from '../streams/stream.ts';
import type { Transaction } from '../database/connection.ts';
import type { RunKind } from '../database/control-tables.ts';
import type { SnapshotScope } from '../loading/merge-sql.ts';
import type { StateChange, StreamState } from '../streams/state.ts';
import type { StreamSession } from '../database/stream-session.ts';
import type { Loader } from '../loading/load.ts';

export interface SyncSettings {
  readonly accountId: string;
  readonly equipmentTypes: readonly string[];
  /** How far behind the watermark an incremental read starts. */
  readonly followupsOverlapMs: number;
  readonly maxDeleteRatio: number;
  /** Slices of history that are read side by side. */
  readonly readers: number;
  /** Records of a slice that is worth planning; default: by `sliceRecordsFor`. */
  readonly sliceRecords?: number;
}

/** Creation time that a backfill covers, ms; null: open. */
export interface BackfillRange {
  readonly fromMs: number | null;
  /** Exclusive. */
  readonly toMs: number | null;
}

export interface HistoryProgress {
  readonly records: number;
  /** null: the service does not say. */
  readonly total: number | null;
  readonly slicesDone: number;
}

export interface ExtractContext {
  readonly stream: StreamDefinition;
  readonly api: ApiClient;
  readonly meter: RequestMeter;
  readonly loader: Loader;
  readonly state: StreamState;
  readonly settings: SyncSettings;
  readonly clock: Clock;
  readonly kind: RunKind;
  readonly range: BackfillRange;
  /** Forget the ledger of an earlier backfill. */
  readonly restart: boolean;
  readonly onProgress?: ((progress: HistoryProgress) => void) | undefined;
  /** Ignore "nothing can have changed yet". */
  readonly force: boolean;
  readonly session: StreamSession;
  readonly signal: AbortSignal;
  /** Stores what was added so far, with the run's counters, and goes on. */
  checkpoint(alsoStore: (tx: Transaction) => Promise<void>): Promise<void>;
}

export type Extraction =
  /** Nothing was asked, or what was asked cannot be had here: not a failure. */
  | {
      readonly outcome: 'skipped';
      readonly reason: string;
      /** What the run learned all the same. */
      readonly state?: StateChange;
      /** When there will be something to ask for, ms from now; undefined: nobody knows. */
      readonly dueInMs?: number;
    }
  | {
      readonly outcome: 'read';
      /** What a complete snapshot covered; null deletes nothing. */
      readonly covered: SnapshotScope | null;
      readonly state: StateChange;
      /** For the run record: what the reader should know. */
      readonly note: string | null;
      /** reconcile: staged changes that the source had made up to here, ms, should have been stored before. */
      readonly missedUpToMs?: number;
      /** What was added is right and is stored, but it is not everything: the run fails. */
      readonly failure: SafetySyncError | null;
    };

export type Extract = (context: ExtractContext) => Promise<Extraction>;
