/** Selects the reader of a stream. */
import type { RunKind, StreamState } from '../streams/state.ts';
import type { StreamDefinition } from '../streams/stream.ts';
import { readCachedList } from './cached-list.ts';
import { readFollowups } from './followups.ts';
import { readNewestFirst } from './newest-first.ts';
import { readNames } from './names.ts';
import { readOneRecord } from './one-record.ts';
import { readPeople } from './people.ts';
import type { ReadRequest } from './read-request.ts';
import { readSnapshot } from './snapshot.ts';
import type { ReadOutcome, Step, Steps } from './step.ts';

function readByMode(request: ReadRequest): Steps<ReadOutcome> {
  const { onlyRecord, stream } = request;
  if (onlyRecord !== undefined) return readOneRecord(request, onlyRecord);
  switch (stream.readMode.kind) {
    case 'snapshot':
      return readSnapshot(request, stream.readMode.per);
    case 'cached_list':
      return readCachedList(request, stream.readMode);
    case 'incremental':
      return readFollowups(request);
    case 'newest_first':
      return readNewestFirst(request);
    case 'people':
      return readPeople(request);
    case 'names':
      return readNames(request);
  }
}

/** Reads a stream from the service. The last step is the end. */
export async function* read(request: ReadRequest): AsyncGenerator<Step, void, undefined> {
  yield { kind: 'end', outcome: yield* readByMode(request) };
}

/** Whether the run may be complete: only then missing records count as deletions. */
export function tracksSeen(
  { readMode }: StreamDefinition,
  kind: RunKind,
  { watermark }: StreamState,
): boolean {
  return readMode.kind !== 'incremental' || kind === 'reconcile' || (kind === 'sync' && watermark !== null);
}
