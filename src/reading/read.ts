/** Which reader reads a stream. */
import type { RunKind } from '../streams/state.ts';
import type { StreamDefinition } from '../streams/stream.ts';
import { readCachedReport } from './cached-report.ts';
import { readIncremental } from './incremental.ts';
import { readLookups } from './lookup.ts';
import type { ReadRequest } from './read-request.ts';
import { readAccountSnapshot, readEquipmentTypes } from './snapshot.ts';
import type { ReadOutcome, Step, Steps } from './step.ts';

function readerOf({ reading }: StreamDefinition): (request: ReadRequest) => Steps<ReadOutcome> {
  switch (reading.kind) {
    case 'snapshot':
      return reading.scope === 'account' ? readAccountSnapshot : readEquipmentTypes;
    case 'calculation':
      return readCachedReport;
    case 'incremental':
      return readIncremental;
    case 'lookup':
      return readLookups;
  }
}

/** Reads a stream from the service. The last step is the end. */
export async function* read(request: ReadRequest): AsyncGenerator<Step, void, undefined> {
  const outcome = yield* readerOf(request.stream)(request);
  yield { kind: 'end', outcome };
}

/** Deletions can only be drawn where everything that there is was seen. */
export function tracksSeen({ reading }: StreamDefinition, kind: RunKind): boolean {
  switch (reading.kind) {
    case 'snapshot':
    case 'calculation':
      return true;
    case 'incremental':
      return kind === 'reconcile';
    case 'lookup':
      return false;
  }
}
