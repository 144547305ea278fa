/**
 * The state of a stream that a run stores for the next one: `safety_sync.stream_state`, the ledger of a backfill.
 */

/** Times in ms since 1970. */
export interface StreamState {
  /** All changes that the service had made up to this time are stored, by its own clock. */
  readonly watermark: number | null;
  /** `last_updated` of the newest stored list, never beyond the service's clock at that moment. */
  readonly calculatedAt: number | null;
  /** Time during which the list cannot change, ms from now by the database's clock; 0 or less: it may have changed. */
  readonly freshForMs: number;
  readonly completeRead: CompleteRead;
  /** The account has another address, and the stream has not read everything from there yet. */
  readonly isMoved: boolean;
}

/** Complete reads of a stream that is otherwise read by its changes. */
interface CompleteRead {
  /** ms since the last attempt, by the database's clock; null: there was none. */
  readonly agoMs: number | null;
  /** Duration of the last one that was complete; 0: there was none. */
  readonly tookMs: number;
  /** Records that the service counted then and did not show (negative: that it showed and did not count); 0: none. */
  readonly difference: number;
}

export interface StateChange {
  readonly watermark?: number | null;
  readonly calculatedAt?: number | null;
  /** The list was requested: time during which it cannot change, ms from now. */
  readonly freshForMs?: number;
  /** The plan of the backfill was carried out. */
  readonly isPlanDone?: true;
  /** 0: the service counts as many as are stored. */
  readonly difference?: 0;
  /**
   * A complete read: its duration, and the service's totals at its beginning and end; null: a row stays although the read did
   * not show it, because its response may be late, so a later run looks again.
   */
  readonly completeRead?: { readonly tookMs: number; readonly totals: readonly number[] | null };
}

export const NO_STATE: StreamState = {
  watermark: null,
  calculatedAt: null,
  freshForMs: 0,
  completeRead: { agoMs: null, tookMs: 0, difference: 0 },
  isMoved: false,
};

/** The way to read a stream: new data only, everything again, or everything compared with the stored rows. */
export type RunKind = 'sync' | 'backfill' | 'reconcile';
export type RunTrigger = 'schedule' | 'manual';

/** Creation time from `fromMs` to `toMs` (exclusive), ms since 1970. */
export interface TimeSlice {
  readonly fromMs: number;
  readonly toMs: number;
}

/** An end that a slice has in common with this is no bound. */
export const WHOLE_TIME: TimeSlice = { fromMs: 0, toMs: Date.UTC(2100, 0) };

/**
 * The range of a backfill, and the watermark after all of it is stored; null: there is nothing to resume, because it is
 * stored or begins again.
 */
export interface BackfillPlan extends TimeSlice {
  readonly watermark: number | null;
}

/** `failed`: the service does not return it. It stays so, and is read again by every sync, until it is repaired. */
export type SliceStatus = 'pending' | 'done' | 'failed';

/** A row of the backfill's ledger. */
export interface LedgerSlice extends TimeSlice {
  readonly status: SliceStatus;
  /** Everything created from this time on is stored; equal to `toMs` when no record is stored yet. */
  readonly readToMs: number;
  readonly expected: number | null;
  /** Different records created from `readToMs` on. */
  readonly records: number;
}

/** A change of the backfill's ledger. */
export type LedgerChange =
  /** A new plan replaces everything that the ledger holds, except failed slices. Its slices follow. */
  | { readonly kind: 'plan'; readonly plan: BackfillPlan }
  | { readonly kind: 'slice'; readonly slice: LedgerSlice }
  /** The failed slices within it are read again, and are open no more, unless they are written again after this. */
  | { readonly kind: 'read_again'; readonly range: TimeSlice }
  /** Notes the time: of follow-ups when an attempt to read everything begins, of completed trainings when one has succeeded. */
  | { readonly kind: 'complete_read' };

/** For the reader of names. */
export interface NamesState {
  /** Number of live names of each kind. */
  readonly live: Readonly<Record<string, number>>;
  /** Ids in live records that have no name, as `kind:id`. */
  readonly unnamed: readonly string[];
  /** The data lists from which items of metafields are chosen. */
  readonly dataLists: readonly string[];
}
