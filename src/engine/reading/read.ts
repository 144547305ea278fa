/** Selects the reader of a stream. */
import { recordKey } from '../streams/wire.ts';
import { isPseudonym } from '../../shared/pseudonym.ts';
import { readCachedList } from './cached-list.ts';
import { readFollowups } from './followups.ts';
import { readNewestFirst } from './newest-first.ts';
import { readNames } from './names.ts';
import { readPeople } from './people.ts';
import type { KnownRecord, Params, ReadRequest } from './read-request.ts';
import { readSnapshot } from './snapshot.ts';
import { records, type Step } from './step.ts';

/** By the read mode of the stream. */
const READERS = {
  snapshot: readSnapshot,
  cached_list: readCachedList,
  incremental: readFollowups,
  newest_first: readNewestFirst,
  people: readPeople,
  names: readNames,
} as const;

/**
 * A filter that selects one record, or a few with it. The service has no filter by the id of a follow-up or a completion, and does
 * not know the pseudonym of a forgotten person: then everything is read up to the record.
 */
function filterFor({ stream: { readMode } }: ReadRequest, { key, stored }: KnownRecord): Params {
  const { response_id: response, m_user_id: user } = stored ?? {};
  switch (readMode.kind) {
    case 'cached_list':
      return { m_user_ids: [key] };
    case 'incremental':
      return /^\d{1,15}$/.test(String(response)) ? { response_id: Number(response) } : {};
    case 'newest_first':
      return isPseudonym(String(user)) ? {} : { user_id: user };
    default:
      return {};
  }
}

/** A response with members that are not known may be only a part of the list: what it lacks is not deleted. */
async function* readToEnd(request: ReadRequest): AsyncGenerator<Step, void> {
  const outcome = yield* READERS[request.stream.readMode.kind](request);
  const unknown = [...request.service.meter.unknownMembers].join(', ');
  const isDoubtful = outcome.kind === 'read' && outcome.covered !== null && unknown !== '';
  const doubt = `nothing was marked deleted, because the response has members that are not known: ${unknown}`;
  const note = isDoubtful ? [outcome.note ?? [], doubt].flat().join('; ') : null;
  yield { kind: 'end', outcome: isDoubtful ? { ...outcome, covered: null, note } : outcome };
}

/**
 * Keeps the one record of those that the reader of the stream yields. The run's note has no key, because it may
 * identify a person.
 */
async function* readOne(request: ReadRequest, known: KnownRecord): AsyncGenerator<Step, void> {
  let reason = 'the service does not have that record: there is nothing to store';
  const kind = request.kind === 'sync' ? 'reconcile' : request.kind;
  for await (const step of readToEnd({ ...request, kind, filters: filterFor(request, known) })) {
    if (step.kind === 'end') {
      const { outcome } = step;
      if (outcome.kind === 'skipped') ({ reason } = outcome);
      else if (outcome.failure !== null) throw outcome.failure;
    }
    if (step.kind !== 'records') continue;
    // The last one, as in the merge, where several have the key.
    const record = step.records.findLast((one) => recordKey(one, request.stream.keyField) === known.key);
    if (record === undefined) continue;
    yield records([record], step.about);
    const note = 'stored one record again';
    yield { kind: 'end', outcome: { kind: 'read', covered: null, note, failure: null } };
    return;
  }
  yield { kind: 'end', outcome: { kind: 'skipped', reason } };
}

/** Reads a stream from the service. The last step is the end. A consumer that stops in the middle ends the requests. */
export async function* read(request: ReadRequest): AsyncGenerator<Step, void, undefined> {
  const { onlyRecord, service } = request;
  const stop = new AbortController();
  const signal = AbortSignal.any([service.signal, stop.signal]);
  const one = { ...request, service: { ...service, signal } };
  try {
    yield* onlyRecord === undefined ? readToEnd(one) : readOne(one, onlyRecord);
  } finally {
    stop.abort();
  }
}
