/** Determines how a run ends, from the results of its reader and of the load. Pure. */
import type { Success } from '../control-tables/stream-state.ts';
import type { SafetySyncError } from '../../shared/errors.ts';
import { isWholeTime, WHOLE_TIME } from '../reading/creation-slice.ts';
import type { ReadOutcome } from '../reading/step.ts';
import { isOfSingleRecords, type RunEnding, type RunRequest } from './run.ts';

type Notes = readonly (string | null | undefined)[];

const joined = (notes: Notes): string | null => notes.flatMap((note) => note ?? []).join('; ') || null;

interface Remarks {
  /** The failure of the load. */
  readonly failure?: SafetySyncError | null;
  readonly notes?: Notes;
}

export function toEnding(outcome: ReadOutcome, { failure = null, notes = [] }: Remarks = {}): RunEnding {
  if (outcome.kind === 'skipped') {
    return { outcome: 'skipped', reason: joined([outcome.reason, ...notes]) ?? '', dueInMs: outcome.dueInMs };
  }
  const error = outcome.failure ?? failure;
  return error === null
    ? { outcome: 'succeeded', note: joined([outcome.note, ...notes]) }
    : { outcome: 'failed', error };
}

/** The success to record, if the run makes the stream fresh: a range of creation time does not. */
export function successOf(
  { outcome }: RunEnding,
  { request, requests }: { readonly request: RunRequest; readonly requests: number },
): Success {
  const { range = WHOLE_TIME, retirePartition } = request;
  const readsLittle = isOfSingleRecords(request) || retirePartition !== undefined || !isWholeTime(range);
  if (outcome !== 'succeeded' || readsLittle) return 'none';
  return requests > 0 ? 'asked' : 'unasked';
}
