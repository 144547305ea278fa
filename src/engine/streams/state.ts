/**
 * The state of a stream that a run stores for the next one: `safety_sync.stream_state`, the ledger of a backfill, lookups.
 */

/** A time that the service sent, in ms since 1970. */
export interface ServiceTime {
  readonly ms: number;
  /**
   * The lead of the service's clock over the worker's when the time was recorded; null: the response had no time of its own.
   */
  readonly clockOffsetMs: number | null;
}

/** Times in ms since 1970. */
export interface StreamState {
  /** All changes that the service had made up to this time are stored. */
  readonly watermark: ServiceTime | null;
  /** `last_updated` of the newest stored list, never beyond the service's clock at that moment. */
  readonly calculatedAt: ServiceTime | null;
  /**
   * The time since which every response was older than that list, by the worker's clock; null: the last response was
   * not older.
   */
  readonly olderSinceMs: number | null;
  readonly check: CalculationCheck | null;
  readonly keyless: KeylessMemory | null;
}

/** The last request for the list. */
export interface CalculationCheck {
  /** By the worker's clock. */
  readonly atMs: number;
  /** ms that have passed since, by the database's clock; negative when that clock went back. */
  readonly agoByDatabaseMs: number;
  /** Time after the check during which the list cannot have changed. */
  readonly freshForMs: number;
}

export interface StateChange {
  readonly watermark?: ServiceTime | null;
  readonly calculatedAt?: ServiceTime | null;
  readonly olderSinceMs?: number | null;
  readonly check?: { readonly atMs: number; readonly freshForMs: number };
}

export const NO_STATE: StreamState = {
  watermark: null,
  calculatedAt: null,
  olderSinceMs: null,
  check: null,
  keyless: null,
};

/** Records without key and identity in the last complete read of a stream. */
export interface KeylessMemory {
  /** One fingerprint for the content of each record. */
  readonly fingerprints: readonly string[];
  /** Keys of rows that may be such a record. */
  readonly kept: readonly string[];
}

/** The way to read a stream: new data only, everything again, or everything compared with the stored rows. */
export type RunKind = 'sync' | 'backfill' | 'reconcile';

/** Creation time from `fromMs` to `toMs` (exclusive), ms since 1970; an end without a bound is infinite. */
export interface TimeSlice {
  readonly fromMs: number;
  readonly toMs: number;
}

/** The range of a backfill (without an upper bound: what existed when it began), and the watermark after all of it is stored. */
export interface BackfillPlan extends TimeSlice {
  readonly watermark: ServiceTime | null;
}

export type SliceStatus = 'pending' | 'done' | 'failed';

/** A row of the backfill's ledger; its ends are finite. */
export interface LedgerSlice extends TimeSlice {
  readonly status: SliceStatus;
  /** Everything created from this time on is stored; equal to `toMs` when no record is stored yet. */
  readonly readToMs: number;
  readonly expected: number | null;
  readonly records: number;
  /**
   * Number of consecutive failures to get a response with a certain record of the slice, although the service was available;
   * 0: the slice has no hole. A slice of a new plan, or a piece of a hole, keeps the failures until it is read.
   */
  readonly failures: number;
}

/**
 * A slice with failures that is not done: reads of changes leave it out. Example: the service fails for one of its records,
 * or a backfill has planned a range with such a record anew and has not read it.
 */
export interface Hole {
  readonly slice: LedgerSlice;
  /** The hole has waited long enough for another attempt. */
  readonly isDue: boolean;
}

/** A change of the backfill's ledger. */
export type LedgerChange =
  /** A new plan replaces everything that the ledger holds, except the holes that its slices do not cover. */
  | { readonly kind: 'plan'; readonly plan: BackfillPlan; readonly slices: readonly LedgerSlice[] }
  | { readonly kind: 'slice'; readonly slice: LedgerSlice }
  /** A range that was left out of a read of changes. */
  | { readonly kind: 'hole'; readonly slice: TimeSlice }
  /** Smaller slices that replace one slice. */
  | { readonly kind: 'cut'; readonly slice: LedgerSlice; readonly pieces: readonly LedgerSlice[] };

/** A user id to look up. */
export interface DueLookup {
  readonly userId: string;
  /** Lookups that failed since the last one that succeeded. */
  readonly failures: number;
}

/** The result of one lookup. */
export interface LookupResult {
  readonly userId: string;
  /** null: unknown, because the lookup failed; the stored value stays. */
  readonly isKnown: boolean | null;
  /** Delay until the next lookup, in ms from now; null: the due time does not change. */
  readonly againInMs: number | null;
  readonly failures: number;
  /** Error code of a lookup that failed. */
  readonly error: string | null;
}

/** User ids with a failed last lookup. */
export interface FailingLookups {
  readonly total: number;
  readonly some: readonly { readonly userId: string; readonly error: string | null }[];
}
