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

const NOTHING_NEW = {
  kind: 'read',
  covered: null,
  note: 'the training list has not changed',
  failure: null,
} as const;

interface Calculation {
  readonly first: ListPage;
  readonly pages: readonly ListPage[];
  /** undefined: the first page is not of a wanted list, and no other page was read. */
  readonly list: ListRead | undefined;
}

/** undefined: the pages are of two lists. */
async function readCalculation(
  service: Service,
  asked: ListAsked,
  isWanted: (first: ListPage) => boolean,
): Promise<Calculation | undefined> {
  const pages: ListPage[] = [];
  const steps = readList(service, asked);
  let next = await steps.next();
  for (; next.done !== true; next = await steps.next()) {
    const [first = next.value] = pages;
    if (readLastUpdated(next.value) !== readLastUpdated(first)) return undefined;
    if (!isWanted(first)) return { first, pages, list: undefined };
    pages.push(next.value);
  }
  const [first] = pages;
  return first && { first, pages, list: next.value };
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
    if (calculation === undefined) continue;
    const { first, pages, list } = calculation;
    const timeMs = timeOf(first);
    // A `last_updated` in the future is an error of the data: the list existed when the response was made.
    const sentMs = readLastUpdated(first) ?? Infinity;
    const calculatedAtMs = sentMs > timeMs + MOST_AHEAD_MS ? timeMs : sentMs;
    const isTold = sentMs < Infinity;
    const freshForMs = isTold ? Math.max(0, Math.min(cacheMs, cacheMs - timeMs + calculatedAtMs)) : 0;
    if (list === undefined) {
      if (calculatedAtMs === state.calculatedAt) return { ...NOTHING_NEW, state: { freshForMs } };
      const reason = `last_updated went back to ${new Date(calculatedAtMs).toISOString()}: an older training list is not stored (backfill ${stream.name} stores it)`;
      return { kind: 'skipped', reason };
    }
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
