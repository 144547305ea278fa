/** How a run ended, from the reader's outcome and from what the merge found. */
import type { SafetySyncError } from '../shared/errors.ts';
import type { Merged } from '../loading/merge.ts';
import type { ReadOutcome } from '../reading/step.ts';
import type { Success } from '../database/stream-state.ts';
import { isOfSingleRecords, type RunRequest, type RunResult } from './run.ts';

export type Ending = Pick<RunResult, 'outcome'> &
  (
    | { readonly outcome: 'succeeded'; readonly note: string | null }
    | { readonly outcome: 'skipped'; readonly reason: string; readonly dueInMs?: number | undefined }
    | { readonly outcome: 'failed'; readonly error: SafetySyncError }
  );

/** What only the storing told. */
export function withRemarks(ending: Ending, { note, failure }: Pick<Merged, 'note' | 'failure'>): Ending {
  if (ending.outcome !== 'succeeded') return ending;
  if (failure !== null) return { outcome: 'failed', error: failure };
  const notes = [ending.note, note].filter((one) => one !== null);
  return { outcome: 'succeeded', note: notes.length === 0 ? null : notes.join('; ') };
}

export function toEnding(outcome: ReadOutcome): Ending {
  switch (outcome.kind) {
    case 'skipped':
      return { outcome: 'skipped', reason: outcome.reason, dueInMs: outcome.dueInMs };
    case 'read':
      return outcome.failure === null
        ? { outcome: 'succeeded', note: outcome.note }
        : { outcome: 'failed', error: outcome.failure };
  }
}

/** What the ending says of how fresh the stream is. */
export function successOf(
  { outcome }: Ending,
  { request, requests }: { readonly request: RunRequest; readonly requests: number },
): Success {
  if (outcome !== 'succeeded' || isOfSingleRecords(request)) return 'none';
  return requests > 0 ? 'asked' : 'unasked';
}
