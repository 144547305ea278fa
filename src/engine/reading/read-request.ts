/** The request, the service and the warehouse of a reader. */
import type { ApiClient } from '../api/client.ts';
import type { RequestMeter } from '../api/requests.ts';
import type { Received } from '../../shared/received.ts';
import type { Clock } from '../../shared/time.ts';
import type { MethodStates } from '../streams/optional-methods.ts';
import type {
  BackfillPlan,
  LedgerSlice,
  NamesState,
  RunKind,
  RunTrigger,
  StreamState,
  TimeSlice,
} from '../streams/state.ts';
import type { Coverage, StreamDefinition, WireRecord } from '../streams/stream.ts';
import type { StoredPartition } from '../streams/unread-partitions.ts';

/** Of a request. */
export type Params = Readonly<Record<string, unknown>>;

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
export interface Service {
  /** Created at the first request, because a stream without requests needs no service. */
  readonly api: () => ApiClient;
  readonly meter: RequestMeter;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/** Queries of a reader. They see everything that it has yielded before. */
export interface WarehouseReads {
  /** Keys of the covered live rows that were not among the records. */
  findVanished(covered: Coverage): Promise<ReadonlySet<string>>;
  /** Whether each of these records has a live row. */
  areStored(records: readonly Received[]): Promise<boolean>;
  /** The backfill under way or last done; undefined when there never was one. Its slices and the failed ones, newest first. */
  readLedger(): Promise<{ plan: BackfillPlan | undefined; slices: readonly LedgerSlice[] }>;
  /** Rows that the service still lists, after a commit: live ones, and those that it sends as deleted. */
  countListed(): Promise<number>;
  readKnownPeople(): Promise<{ readonly listed: number; readonly hasNew: boolean }>;
  /** Ids in rows that no row of users has. `isAll`: also those that the service did not know in the last days. */
  readUnknownPeople(which: { readonly isAll: boolean }): Promise<readonly string[]>;
  /** The remembered results of the optional methods. */
  readOptionalMethods(): Promise<MethodStates>;
  readNamesState(): Promise<NamesState>;
  /** Equipment types: those that the service listed last, and those of rows. */
  readTypes(): Promise<{ named: readonly string[]; stored: readonly StoredPartition[] }>;
}

/** One record, with stored values that help to request it. */
export interface KnownRecord {
  readonly key: string;
  /** As received last; null: it is not stored. */
  readonly stored: WireRecord | null;
}

/** The part of a run's request that its reader needs. */
export interface ReadOptions {
  readonly kind: RunKind;
  /** A scheduled run leaves requests to the others: it looks up fewer people, and waits longer before it reads everything again. */
  readonly trigger: RunTrigger;
  /** sync: send requests even if the service's cache cannot have changed; other kinds always do. */
  readonly force?: boolean | undefined;
  /** Rows may be marked deleted that the delete guard, or the rule of a list, would leave. */
  readonly allowMassDelete?: boolean | undefined;
  /** backfill: the creation time to cover; default: everything. */
  readonly range?: TimeSlice;
  /** backfill: begin a new one instead of continuing one that was cut off. */
  readonly restart?: boolean;
  /** The only record to request; it is stored even if it is unchanged. */
  readonly onlyRecord?: KnownRecord;
}

export interface ReadRequest extends ReadOptions {
  readonly stream: StreamDefinition;
  /** Only what these parameters select, because only one record is looked for. */
  readonly filters?: Params;
  readonly state: StreamState;
  readonly settings: SyncSettings;
  readonly service: Service;
  readonly warehouse: WarehouseReads;
}

/** A list that comes with less than half of what is stored is an error of the service, unless the request accepts it. */
export const isEnough = ({ allowMassDelete = false }: ReadOptions, came: number, stored: number): boolean =>
  allowMassDelete || 2 * came >= stored;

/** A sync that was not forced leaves out what can show nothing new. */
export const isPlainSync = ({ kind, force = false }: ReadOptions): boolean => kind === 'sync' && !force;
