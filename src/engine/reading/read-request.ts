/** The request, the service and the warehouse of a reader. */
import type { ApiClient } from '../api/client.ts';
import type { RequestMeter } from '../api/requests.ts';
import type { Clock } from '../../shared/time.ts';
import type {
  BackfillPlan,
  DueLookup,
  FailingLookups,
  Hole,
  LedgerSlice,
  RunKind,
  StreamState,
  TimeSlice,
} from '../streams/state.ts';
import type { Coverage, StreamDefinition, WireRecord } from '../streams/stream.ts';

export interface SyncSettings {
  readonly accountId: string;
  readonly equipmentTypes: readonly string[];
  /** How far behind the watermark an incremental read starts. */
  readonly followupsOverlapMs: number;
  readonly maxDeleteRatio: number;
  /** Number of slices of a backfill that are read concurrently. */
  readonly sliceConcurrency: number;
}

/** The service for one run. */
interface Service {
  readonly api: ApiClient;
  readonly meter: RequestMeter;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/** Queries of a reader. They see everything that it has yielded before. */
export interface WarehouseReads {
  /** Keys of the covered live rows that were not among the records. */
  findVanished(covered: Coverage): Promise<ReadonlySet<string>>;
  /** The backfill under way or last done, its slices newest first; undefined when there never was one. */
  readLedger(): Promise<{ plan: BackfillPlan; slices: readonly LedgerSlice[] } | undefined>;
  /** Slices that earlier runs left out. */
  readHoles(): Promise<readonly Hole[]>;
  /** To the microsecond, as text. */
  readTime(): Promise<string>;
  /** In the order of their last request. `all`: also those that are not due. */
  readDueLookups(due: {
    readonly all: boolean;
    readonly notAskedSince: string;
    readonly limit: number;
  }): Promise<readonly DueLookup[]>;
  /** Ids with a successful last lookup, the latest first. */
  readSucceededLookups(limit: number): Promise<readonly string[]>;
  readFailingLookups(limit: number): Promise<FailingLookups>;
}

/** One record, with stored values that help to request it. */
export interface KnownRecord {
  readonly key: string;
  /** As received last; null: it is not stored. */
  readonly stored: WireRecord | null;
  /** equipments: the type with which it was found last. */
  readonly requestedType: string | null;
}

/** The part of a run's request that its reader needs. */
export interface ReadOptions {
  readonly kind: RunKind;
  /** sync: send requests even if the service's cache cannot have changed; other kinds always do. */
  readonly force?: boolean | undefined;
  /** backfill: the creation time to cover; default: everything. */
  readonly range?: TimeSlice;
  /** backfill: begin a new one instead of continuing one that was cut off. */
  readonly restart?: boolean;
  /** The only record to request; it is stored even if it is unchanged. */
  readonly onlyRecord?: KnownRecord;
}

export interface ReadRequest extends ReadOptions {
  readonly stream: StreamDefinition;
  /** Holes that are not due are not tried again yet. */
  readonly isScheduled: boolean;
  readonly state: StreamState;
  readonly settings: SyncSettings;
  readonly service: Service;
  readonly warehouse: WarehouseReads;
}
