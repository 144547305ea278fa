/** Determines how a run ends, from the results of its reader and of the load. Pure. */
import type { Success } from '../control-tables/stream-state.ts';
import type { Merged } from '../loading/merge.ts';
import type { ReadOutcome } from '../reading/step.ts';
import { isOfSingleRecords, type RunEnding, type RunRequest } from './run.ts';

/** Adds the note or the failure of the load. */
export function withRemarks(
  ending: RunEnding,
  { note, failure }: Pick<Merged, 'note' | 'failure'>,
): RunEnding {
  if (ending.outcome !== 'succeeded') return ending;
  if (failure !== null) return { outcome: 'failed', error: failure };
  const notes = [ending.note, note].filter((one) => one !== null);
  return { outcome: 'succeeded', note: notes.length === 0 ? null : notes.join('; ') };
}

/** Adds the note about live rows that no run reads, because these rows are older than the stream's last success suggests. */
export function withUnread(ending: RunEnding, unread: string | null): RunEnding {
  if (unread === null || ending.outcome === 'failed') return ending;
  if (ending.outcome === 'skipped') return { ...ending, reason: `${ending.reason}; ${unread}` };
  return { ...ending, note: ending.note === null ? unread : `${ending.note}; ${unread}` };
}

export function toEnding(outcome: ReadOutcome): RunEnding {
  switch (outcome.kind) {
    case 'skipped':
      return { outcome: 'skipped', reason: outcome.reason, dueInMs: outcome.dueInMs };
    case 'read':
      return outcome.failure === null
        ? { outcome: 'succeeded', note: outcome.note ?? null }
        : { outcome: 'failed', error: outcome.failure };
  }
}

/** The success to record, if the run makes the stream fresh. */
export function successOf(
  { outcome }: RunEnding,
  { request, requests }: { readonly request: RunRequest; readonly requests: number },
): Success {
  const asksNothing = isOfSingleRecords(request) || request.retirePart !== undefined;
  if (outcome !== 'succeeded' || asksNothing) return 'none';
  return requests > 0 ? 'asked' : 'unasked';
}
