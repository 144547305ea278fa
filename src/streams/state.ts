/** What a run remembers of its stream for the next one: `safety_sync.stream_state`, the ledger of a backfill, lookups. */

/** A time that the service told, in ms since 1970. */
export interface ServiceTime {
  readonly ms: number;
  /** How far the service's clock was ahead of ours when it was noted; null: it told no time of its own. */
  readonly clockOffsetMs: number | null;
}

/** Times in ms since 1970. */
export interface StreamState {
  /** Every change that the service had made up to here is stored. */
  readonly watermark: ServiceTime | null;
  /** `last_updated` of the newest calculation that was stored, never beyond the service's clock of then. */
  readonly calculatedAt: ServiceTime | null;
  /** Since when every response was older than that calculation, by the worker's clock; null: it was not. */
  readonly olderSinceMs: number | null;
  readonly check: CalculationCheck | null;
  readonly keyless: KeylessMemory | null;
}

/** The last time that a calculation was asked for. */
export interface CalculationCheck {
  /** By the worker's clock. */
  readonly atMs: number;
  /** ms that have passed since, by the database's clock; negative when that clock went back. */
  readonly agoByDatabaseMs: number;
  /** How long after the check the calculation cannot have changed. */
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

/** What the last complete read of a stream knew of records without key and identity. */
export interface KeylessMemory {
  /** One for each record, of its content. */
  readonly fingerprints: readonly string[];
  /** Keys of rows that may be such a record. */
  readonly kept: readonly string[];
}

/** How a stream is read: what is new, everything again, or everything compared with what is stored. */
export type RunKind = 'sync' | 'backfill' | 'reconcile';

/** What a backfill covers, and what it lets the watermark be when all of it is stored. Times in ms since 1970. */
export interface BackfillPlan {
  /** Creation time, inclusive; null: from the beginning. */
  readonly fromMs: number | null;
  /** Exclusive; null: everything that there was when it began. */
  readonly toMs: number | null;
  readonly watermark: ServiceTime | null;
}

export type SliceStatus = 'pending' | 'done' | 'failed';

/** Creation time from `fromMs` to `toMs` (exclusive), ms since 1970. */
export interface TimeSlice {
  readonly fromMs: number;
  readonly toMs: number;
}

/** A row of the backfill's ledger. */
export interface LedgerSlice extends TimeSlice {
  readonly status: SliceStatus;
  /** Everything created from here on is stored; `toMs` when nothing is. */
  readonly readToMs: number;
  readonly expected: number | null;
  readonly records: number;
  /** Times in a row that no response came that holds a certain record of it, although the service was well; 0: it is no hole. */
  readonly failures: number;
}

/** A slice that was left out because the service fails for one of its records: nothing of it is stored. */
export interface Hole {
  readonly slice: LedgerSlice;
  /** It has waited long enough to be tried again. */
  readonly isDue: boolean;
}

/** A change of the backfill's ledger. */
export type LedgerChange =
  /** A new plan replaces everything that the ledger holds. */
  | { readonly kind: 'plan'; readonly plan: BackfillPlan; readonly slices: readonly TimeSlice[] }
  | { readonly kind: 'slice'; readonly slice: LedgerSlice }
  /** A range that was left out of a read of changes. */
  | { readonly kind: 'hole'; readonly slice: TimeSlice }
  /** Smaller slices in the place of one. */
  | { readonly kind: 'cut'; readonly slice: LedgerSlice; readonly parts: readonly TimeSlice[] };

/** A user id to look up. */
export interface DueLookup {
  readonly userId: string;
  /** Lookups that failed since the last one that succeeded. */
  readonly failures: number;
}

/** What became of one lookup. */
export interface LookupResult {
  readonly userId: string;
  /** null: it was not told, what is known stays. */
  readonly isKnown: boolean | null;
  /** When to ask again, ms from now; null: it stays due as it was. */
  readonly againInMs: number | null;
  readonly failures: number;
  /** Error code of a lookup that failed. */
  readonly error: string | null;
}

/** User ids whose last lookup failed. */
export interface FailingLookups {
  readonly total: number;
  readonly some: readonly { readonly userId: string; readonly error: string | null }[];
}
