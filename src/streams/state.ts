/** What a run remembers of its stream for the next one: `safety_sync.stream_state`. */

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
  /** Since when every answer was older than that calculation, by the worker's clock; null: it was not. */
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
