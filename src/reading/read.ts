/** Which reader reads a stream. */
import type { RunKind } from '../streams/state.ts';
import type { StreamDefinition } from '../streams/stream.ts';
import { readCachedReport } from './cached-report.ts';
import { readIncremental } from './incremental.ts';
import { readLookups } from './lookup.ts';
import { readOneRecord } from './one-record.ts';
import type { ReadRequest } from './read-request.ts';
import { readAccountSnapshot, readEquipmentTypes } from './snapshot.ts';
import type { ReadOutcome, Step, Steps } from './step.ts';

function readerOf({ readMode }: StreamDefinition): (request: ReadRequest) => Steps<ReadOutcome> {
  switch (readMode.kind) {
    case 'snapshot':
      return readMode.per === 'account' ? readAccountSnapshot : readEquipmentTypes;
    case 'cached_report':
      return readCachedReport;
    case 'incremental':
      return readIncremental;
    case 'lookup':
      return readLookups;
  }
}

/** Reads a stream from the service. The last step is the end. */
export async function* read(request: ReadRequest): AsyncGenerator<Step, void, undefined> {
  const { onlyRecord, stream } = request;
  const outcome = yield* onlyRecord === undefined
    ? readerOf(stream)(request)
    : readOneRecord(request, onlyRecord);
  yield { kind: 'end', outcome };
}

/** Deletions can only be drawn where everything that there is was seen. */
export function tracksSeen({ readMode }: StreamDefinition, kind: RunKind): boolean {
  switch (readMode.kind) {
    case 'snapshot':
    case 'cached_report':
      return true;
    case 'incremental':
      return kind === 'reconcile';
    case 'lookup':
      return false;
  }
}
