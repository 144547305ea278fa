/** Selects the reader of a stream. */
import type { RunKind, StreamState } from '../streams/state.ts';
import type { StreamDefinition } from '../streams/stream.ts';
import { recordKey } from '../streams/wire.ts';
import type { SafetySyncError } from '../../shared/errors.ts';
import { readCachedList } from './cached-list.ts';
import { readFollowups } from './followups.ts';
import { readNewestFirst } from './newest-first.ts';
import { readNames } from './names.ts';
import { readPeople } from './people.ts';
import { isRefused } from './list.ts';
import type { KnownRecord, Params, ReadRequest } from './read-request.ts';
import { readSnapshot } from './snapshot.ts';
import { records, type ReadOutcome, type Step, type Steps } from './step.ts';

function readByMode(request: ReadRequest): Steps<ReadOutcome> {
  const { stream } = request;
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

/**
 * What selects one record, or a few with it. The service has no filter by the id of a follow-up or a completion. The training
 * of a completion may be corrected, and the user id of a forgotten person is not the service's.
 */
function filtersFor({ stream: { readMode } }: ReadRequest, { key, stored }: KnownRecord): readonly Params[] {
  const by = (name: string, field = name): Params[] =>
    /^\d{1,15}$/.test(String(stored?.[field])) ? [{ [name]: Number(stored?.[field]) }] : [];
  const all = {
    cached_list: [{ m_user_ids: [key] }],
    incremental: by('response_id'),
    newest_first: stored === null ? [] : [{ user_id: stored['m_user_id'] }, ...by('training_id')],
  };
  const filters = readMode.kind in all ? all[readMode.kind as keyof typeof all] : [];
  return filters.length === 0 ? [{}] : filters;
}

/** Of what the reader of the stream finds, the one record. The run's note has no key, because it may identify a person. */
async function* readOne(request: ReadRequest, known: KnownRecord): Steps<ReadOutcome> {
  let refused: SafetySyncError | undefined;
  let reason = 'the service does not have that record: there is nothing to store';
  const kind = request.kind === 'sync' ? 'reconcile' : request.kind;
  for (const filters of filtersFor(request, known)) {
    const steps = readByMode({ ...request, kind, filters });
    try {
      let next = await steps.next();
      for (; next.done !== true; next = await steps.next()) {
        if (next.value.kind !== 'records') continue;
        const { records: list, about } = next.value;
        // The last one, as in the merge, where several have the key.
        const record = list.findLast((one) => recordKey(one, request.stream.keyField) === known.key);
        if (record === undefined) continue;
        yield records([record], about);
        return { kind: 'read', covered: null, note: 'stored one record again', failure: null };
      }
      const { value: outcome } = next;
      if (outcome.kind === 'read' && outcome.failure !== null) throw outcome.failure;
      if (outcome.kind === 'skipped') ({ reason } = outcome);
    } catch (error) {
      if (!isRefused(error)) throw error;
      refused ??= error;
    } finally {
      await steps.return({ kind: 'skipped', reason });
    }
  }
  // If a request was refused, the others cannot prove that the record is absent.
  if (refused !== undefined) throw refused;
  return { kind: 'skipped', reason };
}

/** Reads a stream from the service. The last step is the end. */
export async function* read(request: ReadRequest): AsyncGenerator<Step, void, undefined> {
  const { onlyRecord } = request;
  const steps = onlyRecord === undefined ? readByMode(request) : readOne(request, onlyRecord);
  yield { kind: 'end', outcome: yield* steps };
}

/** Whether the run may be complete: only then missing records count as deletions. */
export function tracksSeen(
  { readMode }: StreamDefinition,
  kind: RunKind,
  { watermark }: StreamState,
): boolean {
  return readMode.kind !== 'incremental' || kind === 'reconcile' || (kind === 'sync' && watermark !== null);
}
