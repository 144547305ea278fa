/** Training status: all pages of one cached list (specification: training-employee-status.list). */
import type { Received } from '../../shared/received.ts';
import { SafetySyncError } from '../../shared/errors.ts';
import { MINUTE_MS } from '../../shared/time.ts';
import type { CalculationCheck, ServiceTime } from '../streams/state.ts';
import type { ListPage } from '../api/requests.ts';
import { countExtraRows, fetchPage, pages, PageTally } from './pages.ts';
import type { ReadRequest } from './read-request.ts';
import { countDistinct, readMs } from './record-fields.ts';
import { recordKey } from '../streams/wire.ts';
import { type ResponseClock, offsetOf, wentBackBy } from './watermark.ts';
import { records, type ReadOutcome, type Steps } from './step.ts';

const ATTEMPTS = 5;
/** A `last_updated` that is later than the response's own Date header by more than this lies in the future. */
const MOST_AHEAD_MS = MINUTE_MS;

/**
 * How long a list stays the newest one after it was read. Its age then follows from the service's own time; a
 * `last_updated` in the future has age 0.
 */
export function freshFor(cacheMs: number, serviceTimeMs: number, calculatedAtMs: number | undefined): number {
  if (calculatedAtMs === undefined) return 0;
  const ageMs = Math.max(0, serviceTimeMs - calculatedAtMs);
  return Math.max(0, cacheMs - ageMs);
}

/** ms until there may be a newer list; 0 as soon as that is so by one of the clocks, or one of them is impossible. */
export function remainingFreshness(check: CalculationCheck | null, nowMs: number): number {
  if (check === null) return 0;
  const passed = [nowMs - check.atMs, check.agoByDatabaseMs];
  if (passed.some((ms) => ms < 0 || ms >= check.freshForMs)) return 0;
  return check.freshForMs - Math.max(...passed);
}

export function readLastUpdated({ envelope }: Pick<ListPage, 'envelope'>): number | undefined {
  const value = envelope['last_updated'];
  const ms = readMs(typeof value === 'string' && value !== '' ? Number(value) : value);
  // Whole ms, as it is stored: with a fraction the same time would be later than the stored one.
  return ms === undefined ? undefined : Math.floor(ms);
}

/**
 * Whether a response is older than the stored list, for example because it comes from another cache. It is
 * the newer one where the stored time lies in the service's future, also because the service's clock was set
 * back.
 */
export function isOlder(calculatedAtMs: number, stored: ServiceTime | null, clock: ResponseClock): boolean {
  if (stored === null || isInFuture(stored.ms, clock)) return false;
  return calculatedAtMs < stored.ms - wentBackBy(stored.clockOffsetMs, clock);
}

function isInFuture(ms: number, { serviceMs }: ResponseClock): boolean {
  return serviceMs !== undefined && ms > serviceMs + MOST_AHEAD_MS;
}

/**
 * A `last_updated` in the future is an error of the data: the list existed when the response was made. Without one the
 * stored time stays, because an older list must not be stored after this one.
 */
function toCalculatedAt(
  calculatedAtMs: number | undefined,
  clock: ResponseClock,
  stored: ServiceTime | null,
): ServiceTime | null {
  // A millisecond less, because a list with the stored time is not this one, and has to be read.
  if (calculatedAtMs === undefined) return stored && { ...stored, ms: stored.ms - 1 };
  const ms = isInFuture(calculatedAtMs, clock) ? (clock.serviceMs ?? calculatedAtMs) : calculatedAtMs;
  return { ms, clockOffsetMs: offsetOf(clock) };
}

/**
 * Checks whether the first page is complete. The empty second page proves nothing if it belongs to another list, because the
 * service keeps a list for each different request. Therefore the first page is requested again with another limit, which
 * gets a new calculation: equal records show that the first page was complete.
 */
async function isStillWhole(
  read: ReadRequest,
  { first, pageSize, sinceMs }: { first: ListPage; pageSize: number; sinceMs: number | undefined },
): Promise<boolean> {
  if (first.records.length >= pageSize - 1) return false;
  const again = await fetchPage(read, requestParams(pageSize - 1));
  const calculatedAtMs = readLastUpdated(again);
  if (sinceMs === undefined || calculatedAtMs === undefined || calculatedAtMs < sinceMs) return false;
  const count = (list: readonly Received[]) => countDistinct(list, read.stream.keyField);
  return (
    again.records.length === first.records.length &&
    count([...first.records, ...again.records]) === count(first.records)
  );
}

/** Yields all pages; the first one is known. Returns why they are not one complete list, else null. */
async function* readPages(
  read: ReadRequest,
  options: { first: ListPage; calculatedAtMs: number | undefined; pageSize: number },
): Steps<SafetySyncError | null> {
  const { stream } = read;
  const { first, calculatedAtMs, pageSize } = options;
  const params = requestParams(pageSize);
  const about = calculatedAtMs === undefined ? {} : { calculatedAtMs };
  const tally = new PageTally(stream.keyField);
  for await (const page of pages(read, params, { tally, first })) {
    const sinceMs = readLastUpdated(page);
    if (sinceMs !== calculatedAtMs) {
      const isEnd = tally.pages === 1 && page.records.length === 0;
      if (isEnd && (await isStillWhole(read, { first, pageSize, sinceMs }))) break;
      const message = `page ${tally.pages + 1} belongs to another training list than page 1`;
      return new SafetySyncError('calculation_unsettled', message);
    }
    yield records(page.records, about);
  }
  const shortfall = tally.shortfall();
  if (shortfall === null) return null;
  const extra = await countExtraRows(read, {
    repeated: tally.repeated,
    whole: params,
    toRequest: (record) => {
      const key = recordKey(record, stream.keyField);
      return key === null ? undefined : { ...params, m_user_ids: [key] };
    },
  });
  if (extra > 0 && tally.shortfall(extra) === null) return null;
  return new SafetySyncError('read_incomplete', `${stream.method}: ${shortfall}`);
}

export function requestParams(pageSize: number) {
  return { include_all_completions: true, limit: pageSize };
}

export async function* readCachedList(
  read: ReadRequest,
  { cacheMs, pageSize }: { readonly cacheMs: number; readonly pageSize: number },
): Steps<ReadOutcome> {
  const { stream, state } = read;
  const { clock } = read.service;
  const remainingMs = remainingFreshness(state.check, clock.now());
  if (read.kind === 'sync' && !read.force && remainingMs > 0) {
    const minutes = Math.ceil(remainingMs / MINUTE_MS);
    const reason = `the service calculates the training list at most every ${cacheMs / MINUTE_MS} minutes; the stored one is current for another ${minutes} min`;
    return { kind: 'skipped', reason, dueInMs: remainingMs };
  }
  yield { kind: 'savepoint' };
  let why: SafetySyncError | null = null;
  let isTimed = false;
  for (let attempt = 1; attempt <= ATTEMPTS; attempt += 1) {
    yield { kind: 'rollback' };
    const atMs = clock.now();
    const first = await fetchPage(read, requestParams(pageSize));
    const responseClock = { serviceMs: first.serviceTimeMs, ourMs: clock.now() };
    const calculatedAtMs = readLastUpdated(first);
    const check = { atMs, freshForMs: freshFor(cacheMs, responseClock.serviceMs ?? atMs, calculatedAtMs) };
    if (read.kind !== 'backfill' && calculatedAtMs !== undefined) {
      if (read.kind === 'sync' && calculatedAtMs === state.calculatedAt?.ms) {
        const note = 'the training list has not changed';
        return { kind: 'read', covered: null, state: { check, olderSinceMs: null }, note, failure: null };
      }
      if (isOlder(calculatedAtMs, state.calculatedAt, responseClock)) {
        const olderSinceMs = Math.min(state.olderSinceMs ?? atMs, atMs);
        const dueInMs = olderSinceMs + cacheMs - atMs;
        if (dueInMs > 0) {
          const reason = `last_updated went back to ${new Date(calculatedAtMs).toISOString()}: an older training list is not stored until the service has returned no newer one for ${cacheMs / MINUTE_MS} minutes (backfill ${stream.name} stores it now)`;
          // The stored list is no fresher because of this response, so its own check stays.
          return { kind: 'skipped', reason, state: { olderSinceMs }, dueInMs };
        }
      }
    }
    isTimed = calculatedAtMs !== undefined;
    why = yield* readPages(read, { first, calculatedAtMs, pageSize });
    if (why === null) {
      return {
        kind: 'read',
        covered: { partitions: null },
        state: {
          check,
          olderSinceMs: null,
          calculatedAt: toCalculatedAt(calculatedAtMs, responseClock, state.calculatedAt),
        },
        failure: null,
      };
    }
  }
  // All pages of the last attempt had one time: their records are right, but others are missing.
  if (isTimed && why?.code === 'read_incomplete') return { kind: 'read', covered: null, failure: why };
  throw why ?? new SafetySyncError('internal_error', 'no attempt was made');
}
