/**
 * What a reader yields: records, and what has to be stored together with them. A reader asks the service and yields; it
 * writes nothing. sync/run-steps.ts carries the steps out in the order in which they come.
 */
import type { Received } from '../shared/received.ts';
import type { SafetySyncError } from '../shared/errors.ts';
import type { LedgerChange, LookupResult, StateChange } from '../streams/state.ts';
import type { Coverage, ReadContext } from '../streams/stream.ts';

export type Step =
  | RecordsStep
  /** What follows may have to be taken back. There is one savepoint at a time: the latest. */
  | { readonly kind: 'savepoint' }
  /** The list is read again from its beginning: everything since the savepoint is void. */
  | { readonly kind: 'rollback' }
  /** What was yielded so far has to be committed before the reader goes on. */
  | { readonly kind: 'commit' }
  /** The reader waits for the service: what was yielded so far may be committed meanwhile. Comes again while it waits. */
  | { readonly kind: 'idle' }
  /** The last step. */
  | { readonly kind: 'end'; readonly outcome: ReadOutcome };

export interface RecordsStep {
  readonly kind: 'records';
  /** Elements of the list as received, whatever they are. */
  readonly records: readonly Received[];
  readonly about: ReadContext;
  /** To be written in the transaction that stores these records. A step with notes may be followed by a commit. */
  readonly notes?: readonly Note[];
  /** For whoever waits. */
  readonly progress?: BackfillProgress;
}

export type Note = LedgerChange | LookupNote;

/** What became of lookups. */
interface LookupNote {
  readonly kind: 'lookups';
  /** The database's time when the run began. */
  readonly begunAt: string;
  readonly results: readonly LookupResult[];
  /** Ids of which the response could be used, known or not. */
  readonly usable: readonly string[];
}

export interface BackfillProgress {
  readonly records: number;
  /** null: the service does not say. */
  readonly total: number | null;
  readonly slicesDone: number;
}

export type ReadOutcome =
  /** Nothing was asked, or what was asked cannot be had here: not a failure. */
  | {
      readonly kind: 'skipped';
      readonly reason: string;
      /** What the run learned all the same. */
      readonly state?: StateChange;
      /** When there will be something to ask for, ms from now; undefined: nobody knows. */
      readonly dueInMs?: number;
    }
  | {
      readonly kind: 'read';
      /** What was read completely; null deletes nothing. */
      readonly covered: Coverage | null;
      readonly state: StateChange;
      /** For the run record: what the reader should know. */
      readonly note: string | null;
      /** reconcile: what is stored of changes that the source made up to here, ms, repairs what earlier runs missed. */
      readonly repairUpToMs?: number;
      /** What was yielded is right and is stored, but it is not everything: the run fails. */
      readonly failure: SafetySyncError | null;
    };

/** Steps, and a value for the generator that asked for them. */
export type Steps<Result = void> = AsyncGenerator<Step, Result, undefined>;

export const records = (list: readonly Received[], about: ReadContext = {}): RecordsStep => ({
  kind: 'records',
  records: list,
  about,
});
