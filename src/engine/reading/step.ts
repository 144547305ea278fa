/**
 * The steps of a reader: records, and the writes to control tables that have to be stored together with them. A reader sends
 * requests and yields steps; it writes nothing. engine/sync/run-steps.ts carries the steps out in their order.
 */
import type { Received } from '../../shared/received.ts';
import type { SafetySyncError } from '../../shared/errors.ts';
import type { LedgerChange, LookupResult, StateChange } from '../streams/state.ts';
import type { Coverage, ReadContext } from '../streams/stream.ts';

export type Step =
  | RecordsStep
  /** The records after it may be rolled back. There is one savepoint at a time: the latest. */
  | { readonly kind: 'savepoint' }
  /** The list is read again from its beginning: the records since the savepoint are void. */
  | { readonly kind: 'rollback' }
  /** The records so far have to be committed before the reader continues. */
  | { readonly kind: 'commit' }
  /** The reader waits for the service: the records so far may be committed meanwhile. Repeated while it waits. */
  | { readonly kind: 'idle' }
  /** The last step. */
  | { readonly kind: 'end'; readonly outcome: ReadOutcome };

export interface RecordsStep {
  readonly kind: 'records';
  /** Elements of the list as received, of any type. */
  readonly records: readonly Received[];
  readonly about: ReadContext;
  /** To be written in the transaction that stores these records. A step with this list may be followed by a commit. */
  readonly writes?: readonly ControlWrite[];
  readonly progress?: BackfillProgress;
}

export type ControlWrite = LedgerChange | LookupWrite;

/** The results of lookups. */
interface LookupWrite {
  readonly kind: 'lookups';
  /** The database's time when the run began. */
  readonly begunAt: string;
  readonly results: readonly LookupResult[];
  /** Ids with a usable response, also those that the service does not know. */
  readonly usable: readonly string[];
}

/**
 * Drops writes of a slice that a later write of it, or its cut, replaces, because each page of a slice writes the slice. A piece
 * of the cut may have the range of the slice.
 */
export function latestWrites(writes: readonly ControlWrite[]): readonly ControlWrite[] {
  const sliceOf = (write: ControlWrite): string | null =>
    write.kind === 'slice' || write.kind === 'cut' ? `${write.slice.fromMs} ${write.slice.toMs}` : null;
  const latest = new Map(writes.map((write) => [sliceOf(write), write]));
  return writes.filter((write) => write.kind !== 'slice' || latest.get(sliceOf(write)) === write);
}

export interface BackfillProgress {
  readonly records: number;
  /** null: the service returns none. */
  readonly total: number | null;
  readonly slicesDone: number;
}

export type ReadOutcome =
  /** There was nothing to request, or the service does not offer it: not a failure. */
  | {
      readonly kind: 'skipped';
      readonly reason: string;
      readonly state?: StateChange;
      /** When there will be something to request, ms from now; undefined: unknown. */
      readonly dueInMs?: number;
    }
  | {
      readonly kind: 'read';
      /** The partitions that were read completely; null deletes nothing. */
      readonly covered: Coverage | null;
      readonly state?: StateChange;
      /** For the run record. */
      readonly note?: string | null;
      /** reconcile: changes that the source made up to here, ms, and that this run stores, were missed by earlier runs. */
      readonly repairUpToMs?: number;
      /** The records are right and are stored, but are not complete: the run fails. */
      readonly failure: SafetySyncError | null;
    };

/** Steps, and a result for the calling generator. */
export type Steps<Result = void> = AsyncGenerator<Step, Result, undefined>;

export const records = (list: readonly Received[], about: ReadContext = {}): RecordsStep => ({
  kind: 'records',
  records: list,
  about,
});
