/** Training status: all pages of one cached list (specification: training-employee-status.list). */
import { SafetySyncError } from '../../shared/errors.ts';
import { MINUTE_MS } from '../../shared/time.ts';
import type { ListPage } from '../api/requests.ts';
import { incomplete, type ListAsked, type ListRead, type Params, readList } from './list.ts';
import type { ReadRequest, Service } from './read-request.ts';
import { readMs } from './record-fields.ts';
import { describeUnknown } from './snapshot.ts';
import { records, type ReadOutcome, type Steps } from './step.ts';

/** A `last_updated` that is later than the response's own Date by more than this lies in the future. */
const MOST_AHEAD_MS = MINUTE_MS;
/** A list that is calculated anew between two pages is read again, this often. */
const ATTEMPTS = 3;

export const TRAINING_PARAMS: Params = { include_all_completions: true };

/** When the list was calculated, in whole ms as it is stored; undefined: not told. */
export function readLastUpdated({ envelope }: Pick<ListPage, 'envelope'>): number | undefined {
  const value = envelope['last_updated'];
  const ms = readMs(typeof value === 'string' && value !== '' ? Number(value) : value);
  return ms === undefined ? undefined : Math.floor(ms);
}

type Calculation =
  | {
      readonly kind: 'whole';
      readonly first: ListPage;
      readonly pages: readonly ListPage[];
      readonly list: ListRead;
    }
  /** The first page is not of a newer list. */
  | { readonly kind: 'unwanted'; readonly first: ListPage }
  /** Pages of two lists. */
  | { readonly kind: 'mixed' };

async function readCalculation(
  service: Service,
  asked: ListAsked,
  isWanted: (first: ListPage) => boolean,
): Promise<Calculation> {
  const pages: ListPage[] = [];
  const steps = readList(service, asked);
  for (;;) {
    const next = await steps.next();
    const [first] = pages;
    if (next.done === true)
      return first === undefined ? { kind: 'mixed' } : { kind: 'whole', first, pages, list: next.value };
    const page = next.value;
    if (first === undefined) {
      if (!isWanted(page)) return { kind: 'unwanted', first: page };
    } else if (readLastUpdated(page) !== readLastUpdated(first)) return { kind: 'mixed' };
    pages.push(page);
  }
}

export async function* readCachedList(
  read: ReadRequest,
  { cacheMs, pageSize }: { readonly cacheMs: number; readonly pageSize: number },
): Steps<ReadOutcome> {
  const { stream, state, service } = read;
  const { method, responseKey: listKey, keyField, peekFields } = stream;
  const isOrdinary = read.kind === 'sync' && read.force !== true;
  if (isOrdinary && state.freshForMs > 0) {
    const minutes = Math.ceil(state.freshForMs / MINUTE_MS);
    const reason = `the service calculates the training list at most every ${cacheMs / MINUTE_MS} minutes; the stored one is current for another ${minutes} min`;
    return { kind: 'skipped', reason, dueInMs: state.freshForMs };
  }
  const asked = { method, listKey, keyField, peekFields, params: TRAINING_PARAMS, pageSize };
  const timeOf = (page: ListPage): number => page.serviceTimeMs ?? service.clock.now();
  const isWanted = (first: ListPage): boolean => {
    const sentMs = readLastUpdated(first);
    const stored = state.calculatedAt;
    if (read.kind === 'backfill' || sentMs === undefined || stored === null) return true;
    // A stored time in the service's future is from before its clock was put back.
    return (
      sentMs > stored ||
      stored > timeOf(first) + MOST_AHEAD_MS ||
      (sentMs === stored && read.kind === 'reconcile')
    );
  };
  for (let attempt = 1; attempt <= ATTEMPTS; attempt += 1) {
    const calculation = await readCalculation(service, asked, isWanted);
    if (calculation.kind === 'mixed') continue;
    const { first } = calculation;
    const timeMs = timeOf(first);
    // A `last_updated` in the future is an error of the data: the list existed when the response was made.
    const sentMs = readLastUpdated(first) ?? Infinity;
    const calculatedAtMs = sentMs > timeMs + MOST_AHEAD_MS ? timeMs : sentMs;
    const isTold = sentMs < Infinity;
    const freshForMs = isTold ? Math.max(0, Math.min(cacheMs, cacheMs - timeMs + calculatedAtMs)) : 0;
    if (calculation.kind === 'unwanted') {
      if (calculatedAtMs === state.calculatedAt)
        return {
          kind: 'read',
          covered: null,
          state: { freshForMs },
          note: 'the training list has not changed',
          failure: null,
        };
      const reason = `last_updated went back to ${new Date(calculatedAtMs).toISOString()}: an older training list is not stored (backfill ${stream.name} stores it)`;
      return { kind: 'skipped', reason };
    }
    const { pages, list } = calculation;
    const about = isTold ? { calculatedAtMs } : {};
    for (const page of pages) yield records(page.records, about);
    if (!list.isComplete) return { kind: 'read', covered: null, failure: incomplete(asked, list) };
    const isKnown = list.unknownMembers.length === 0;
    return {
      kind: 'read',
      covered: isKnown ? { partitions: null } : null,
      state: { freshForMs, ...(isTold && { calculatedAt: calculatedAtMs }) },
      note: describeUnknown(list.unknownMembers),
      failure: null,
    };
  }
  throw new SafetySyncError(
    'calculation_unsettled',
    `${method}: the list was calculated anew between two pages, ${ATTEMPTS} times`,
  );
}
