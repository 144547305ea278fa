/** Training status: all pages of one cached list (specification: training-employee-status.list). */
import { SafetySyncError } from '../../shared/errors.ts';
import { MINUTE_MS, toIso } from '../../shared/time.ts';
import type { ListPage } from '../api/requests.ts';
import { readMs } from '../streams/wire.ts';
import { askedOf, incomplete, readList } from './list.ts';
import { isPlainSync, type ReadRequest } from './read-request.ts';
import { records, type ReadOutcome, type Steps } from './step.ts';

/** The service calculates the list at most once in this time. */
const CACHE_MS = 15 * MINUTE_MS;
/** A `last_updated` that is later than the response's own Date by more than this lies in the future. */
const MOST_AHEAD_MS = MINUTE_MS;
/** Most repeats of a read during which the list was recalculated. */
const ATTEMPTS = 3;

/** The time of the calculation, in whole ms as it is stored; undefined: unknown. */
function readLastUpdated({ envelope }: Pick<ListPage, 'envelope'>): number | undefined {
  const ms = readMs(envelope['last_updated']);
  return ms === undefined ? undefined : Math.floor(ms);
}

export async function* readCachedList(read: ReadRequest): Steps<ReadOutcome> {
  const { stream, state, service, kind, filters } = read;
  if (isPlainSync(read) && state.freshForMs > 0) {
    const minutes = Math.ceil(state.freshForMs / MINUTE_MS);
    const reason = `the service calculates the training list at most every ${CACHE_MS / MINUTE_MS} minutes; the stored one is current for another ${minutes} min`;
    return { kind: 'skipped', reason, dueInMs: state.freshForMs };
  }
  const stored = state.calculatedAt ?? -Infinity;
  const asked = askedOf(stream, { include_all_completions: true, ...filters });
  for (let attempt = 1; attempt <= ATTEMPTS; attempt += 1) {
    const list = readList(service, asked);
    let next = await list.next();
    if (next.done === true) break;
    const first = next.value;
    const timeMs = first.serviceTimeMs ?? service.clock.now();
    const sentMs = readLastUpdated(first) ?? timeMs;
    // A `last_updated` in the future is an error of the data: the list existed when the response was made.
    const calculatedAt = sentMs > timeMs + MOST_AHEAD_MS ? timeMs : sentMs;
    const freshForMs = Math.max(0, Math.min(CACHE_MS, CACHE_MS - timeMs + calculatedAt));
    // A stored time in the service's future is from before its clock was put back.
    const isOlder = calculatedAt < stored && stored <= timeMs + MOST_AHEAD_MS;
    if (kind !== 'backfill' && isOlder) {
      const reason = `last_updated went back to ${toIso(calculatedAt)}: an older training list is not stored (backfill ${stream.name} stores it)`;
      return { kind: 'skipped', reason };
    }
    if (kind === 'sync' && calculatedAt === stored) {
      const note = 'the training list has not changed';
      return { kind: 'read', covered: null, note, failure: null, state: { freshForMs } };
    }
    const isOfList = (page: ListPage) => readLastUpdated(page) === readLastUpdated(first);
    for (; next.done !== true && isOfList(next.value); next = await list.next())
      yield records(next.value.records, { calculatedAtMs: calculatedAt });
    if (next.done !== true) {
      yield { kind: 'discard' };
      continue;
    }
    const { isComplete, names, total } = next.value;
    if (!isComplete) return { kind: 'read', covered: null, failure: incomplete(asked, names.size, total) };
    const covered = { partitions: null };
    return { kind: 'read', covered, state: { freshForMs, calculatedAt }, failure: null };
  }
  throw new SafetySyncError(
    'calculation_unsettled',
    `${stream.method}: the list was calculated anew between two pages, ${ATTEMPTS} times`,
  );
}
