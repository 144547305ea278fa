/**
 * The steps of a reader: records, and the writes to control tables that have to be stored together with them. A reader sends
 * requests and yields steps; it writes nothing. engine/sync/run-steps.ts carries the steps out in their order.
 */
import type { Received } from '../../shared/received.ts';
import type { SafetySyncError } from '../../shared/errors.ts';
import type { MethodResult } from '../streams/optional-methods.ts';
import type { LedgerChange, StateChange } from '../streams/state.ts';
import type { Coverage, ReadContext } from '../streams/stream.ts';

export type Step =
  | RecordsStep
  /** The records so far have to be committed before the reader continues. `covered`: they are all that these partitions have. */
  | { readonly kind: 'commit'; readonly covered?: Coverage | null }
  /** The records since the last commit are not stored, because the service has recalculated the list. */
  | { readonly kind: 'discard' }
  /** The last step. */
  | { readonly kind: 'end'; readonly outcome: ReadOutcome };

export interface RecordsStep {
  readonly kind: 'records';
  /** Elements of the list as received, of any type. */
  readonly records: readonly Received[];
  readonly about: ReadContext;
  /** To be written in the transaction that stores these records. Where it is present, also when empty, that transaction may be committed after the step, if it has records. */
  readonly writes?: readonly ControlWrite[];
  readonly progress?: BackfillProgress;
}

export type ControlWrite =
  | LedgerChange
  /** The ends of requests for optional methods. */
  | { readonly kind: 'methods'; readonly results: readonly MethodResult[] }
  /** users.info was asked for this id, and whether it named the person. */
  | { readonly kind: 'people_asked'; readonly id: string; readonly isNamed: boolean }
  /** The records are all people of a list, which has these ids. */
  | { readonly kind: 'people_listed'; readonly ids: readonly string[] };

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
      /** By hand: the one that the next attempt waits for. */
      readonly failure?: SafetySyncError | null;
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
      /** reconcile: changes that the source made up to here, ms, and that this run stores, had been brought by no run. */
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

/** To be written in the transaction that stores the records before them. */
export const writes = (...list: readonly ControlWrite[]): RecordsStep => ({ ...records([]), writes: list });
