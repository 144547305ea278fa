/** What a reader is given. */
import type { ApiClient } from '../api/client.ts';
import type { RequestMeter } from '../api/requests.ts';
import type { Clock } from '../shared/time.ts';
import type {
  BackfillPlan,
  DueLookup,
  FailingLookups,
  Hole,
  LedgerSlice,
  RunKind,
  StreamState,
} from '../streams/state.ts';
import type { Coverage, StreamDefinition, WireRecord } from '../streams/stream.ts';
import type { CreationSlice } from './creation-slice.ts';

export interface SyncSettings {
  readonly accountId: string;
  readonly equipmentTypes: readonly string[];
  /** How far behind the watermark an incremental read starts. */
  readonly followupsOverlapMs: number;
  readonly maxDeleteRatio: number;
  /** Slices of a backfill that are read side by side. */
  readonly readers: number;
}

/** The service, as one run asks it. */
interface Service {
  readonly api: ApiClient;
  readonly meter: RequestMeter;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/** What a reader may ask of the warehouse. Everything that it yielded before is known there. */
export interface WarehouseReads {
  /** Keys of the live rows of what was covered that were not among the records. */
  findVanished(covered: Coverage): Promise<ReadonlySet<string>>;
  /** The backfill under way or last done, its slices newest first; undefined when there never was one. */
  readLedger(): Promise<{ plan: BackfillPlan; slices: readonly LedgerSlice[] } | undefined>;
  /** Slices that earlier runs left out. */
  readHoles(): Promise<readonly Hole[]>;
  /** To the microsecond, as text. */
  readTime(): Promise<string>;
  /** Whoever was not asked for the longest time first. `all`: also those who were asked for lately. */
  readDueLookups(due: {
    readonly all: boolean;
    readonly notAskedSince: string;
    readonly limit: number;
  }): Promise<readonly DueLookup[]>;
  /** Ids whose last lookup succeeded, the latest first. */
  readSucceededLookups(limit: number): Promise<readonly string[]>;
  readFailingLookups(limit: number): Promise<FailingLookups>;
}

/** One record, and what the warehouse knows of it that helps to ask for it. */
export interface KnownRecord {
  readonly key: string;
  /** As it was received last; null: it is not stored. */
  readonly stored: WireRecord | null;
  /** equipments: the type in whose response it was found last. */
  readonly askedType: string | null;
}

export interface ReadRequest {
  readonly stream: StreamDefinition;
  readonly kind: RunKind;
  /** Ignore "nothing can have changed yet". */
  readonly force: boolean;
  /** Holes that are not due are not tried again yet. */
  readonly isScheduled: boolean;
  /** Creation time that a backfill covers. */
  readonly range: CreationSlice;
  /** Forget the ledger of an earlier backfill. */
  readonly restart: boolean;
  /** Only this record is asked for. */
  readonly onlyRecord?: KnownRecord | undefined;
  readonly state: StreamState;
  readonly settings: SyncSettings;
  readonly service: Service;
  readonly warehouse: WarehouseReads;
}
