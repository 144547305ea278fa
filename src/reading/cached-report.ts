/** Training status: all pages of one cached calculation (specification: training-employee-status.list). */
import { SafetySyncError } from '../shared/errors.ts';
import { MINUTE_MS } from '../shared/time.ts';
import type { CalculationCheck, ServiceTime } from '../streams/state.ts';
import type { ListPage } from '../api/requests.ts';
import { createPageTally, fetchPage, isRefusedPage, MOST_PAGES } from './pages.ts';
import type { ReadRequest } from './read-request.ts';
import { type ResponseClock, offsetOf, wentBackBy } from './watermark.ts';
import { records, type ReadOutcome, type Steps } from './step.ts';

const ATTEMPTS = 5;
/** A `last_updated` that is further beyond the response's own Date header lies in the future. */
const MOST_AHEAD_MS = MINUTE_MS;

/**
 * How long a calculation that was asked for at `askedAtMs` stays the newest one. Its age when it was read is told by
 * the service's own time; a `last_updated` that seems to lie in the future has age 0.
 */
export function freshFor(cacheMs: number, serviceTimeMs: number, calculatedAtMs: number | undefined): number {
  if (calculatedAtMs === undefined) return 0;
  const ageMs = Math.max(0, serviceTimeMs - calculatedAtMs);
  return Math.max(0, cacheMs - ageMs);
}

/** ms until it is worth asking again; 0 as soon as one of the clocks says so, or says what cannot be. */
export function remainingFreshness(check: CalculationCheck | null, nowMs: number): number {
  if (check === null) return 0;
  const passed = [nowMs - check.atMs, check.agoByDatabaseMs];
  if (passed.some((ms) => ms < 0 || ms >= check.freshForMs)) return 0;
  return check.freshForMs - Math.max(...passed);
}

export function readLastUpdated({ envelope }: Pick<ListPage, 'envelope'>): number | undefined {
  const value = envelope['last_updated'];
  const ms = typeof value === 'string' && value !== '' ? Number(value) : value;
  // Whole ms, as it is stored: a fraction would make the stored time look older than the same one read again.
  return typeof ms === 'number' && Math.abs(ms) <= 8.64e15 ? Math.floor(ms) : undefined;
}

/**
 * Whether a response is older than what is stored: one of several caches, say. Not so when the stored time lies in the
 * service's future, or came to lie there because the service's clock went back: then the response is the newer one.
 */
export function isOlder(calculatedAtMs: number, stored: ServiceTime | null, clock: ResponseClock): boolean {
  if (stored === null || isInFuture(stored.ms, clock)) return false;
  return calculatedAtMs < stored.ms - wentBackBy(stored.clockOffsetMs, clock);
}

function isInFuture(ms: number, { serviceMs }: ResponseClock): boolean {
  return serviceMs !== undefined && ms > serviceMs + MOST_AHEAD_MS;
}

/** A `last_updated` from the future is an error of the data: the calculation was there when the response was made. */
function toCalculatedAt(calculatedAtMs: number | undefined, clock: ResponseClock): ServiceTime | null {
  if (calculatedAtMs === undefined) return null;
  const ms = isInFuture(calculatedAtMs, clock) ? (clock.serviceMs ?? calculatedAtMs) : calculatedAtMs;
  return { ms, clockOffsetMs: offsetOf(clock) };
}

/**
 * Whether the first page holds everybody although the empty one behind it belongs to another report, because the
 * service keeps one for each different request: asked with another limit, it calculates once more, and finds the same people.
 */
async function isStillWhole(
  read: ReadRequest,
  { first, pageSize, sinceMs }: { first: ListPage; pageSize: number; sinceMs: number | undefined },
): Promise<boolean> {
  if (first.records.length >= pageSize - 1) return false;
  const again = await fetchPage(read, requestParams(pageSize - 1));
  const calculatedAtMs = readLastUpdated(again);
  if (sinceMs === undefined || calculatedAtMs === undefined || calculatedAtMs < sinceMs) return false;
  const tally = createPageTally();
  tally.add(first, read.stream.keyField);
  tally.add(again, read.stream.keyField);
  return again.records.length === first.records.length && !tally.lastPageWasNews;
}

/** All pages, of which the first is known. They belong to its report, or this attempt is void: returns why, else null. */
async function* readPages(
  read: ReadRequest,
  options: { first: ListPage; calculatedAtMs: number | undefined; pageSize: number },
): Steps<SafetySyncError | null> {
  const { stream } = read;
  const about = options.calculatedAtMs === undefined ? {} : { calculatedAtMs: options.calculatedAtMs };
  const tally = createPageTally();
  let page = options.first;
  for (let number = 1; number <= MOST_PAGES; number += 1) {
    if (number > 1) {
      try {
        page = await fetchPage(read, { ...requestParams(options.pageSize), page: number });
      } catch (error) {
        if (!isRefusedPage(error)) throw error;
        break;
      }
      const calculatedAtMs = readLastUpdated(page);
      if (calculatedAtMs !== options.calculatedAtMs) {
        const isEnd = number === 2 && page.records.length === 0;
        if (isEnd && (await isStillWhole(read, { ...options, sinceMs: calculatedAtMs }))) break;
        const message = `page ${number} belongs to another calculation than page 1`;
        return new SafetySyncError('calculation_unsettled', message);
      }
    }
    tally.add(page, stream.keyField);
    yield records(page.records, about);
    if (!tally.hasFurther(number)) break;
  }
  const shortfall = tally.shortfall();
  if (shortfall === null) return null;
  const twice = await countHeldTwice(read, tally.repeated);
  if (twice > 0 && tally.shortfall(twice) === null) return null;
  return new SafetySyncError('read_incomplete', `${stream.method}: ${shortfall}`);
}

/** Repeated employees of one report that are asked about one by one. */
const MOST_REPEATS = 20;

/** Employees whom the source holds twice: asked for one alone, it counts two. A repeated row alone proves nothing. */
async function countHeldTwice(read: ReadRequest, keys: ReadonlySet<string>): Promise<number> {
  let count = 0;
  for (const key of [...keys].slice(0, MOST_REPEATS)) {
    const { paging } = await fetchPage(read, { ...requestParams(1), m_user_ids: [key] });
    count += Math.max(0, (paging?.total ?? 1) - 1);
  }
  return count;
}

export function requestParams(pageSize: number) {
  return { include_all_completions: true, limit: pageSize };
}

export async function* readCachedReport(read: ReadRequest): Steps<ReadOutcome> {
  const { stream, state } = read;
  const { clock } = read.service;
  if (stream.readMode.kind !== 'cached_report') throw new TypeError(`${stream.name} is no cached report`);
  const { cacheMs, pageSize } = stream.readMode;
  const remainingMs = remainingFreshness(state.check, clock.now());
  if (read.kind === 'sync' && !read.force && remainingMs > 0) {
    const minutes = Math.ceil(remainingMs / MINUTE_MS);
    const reason = `the service recalculates at most every ${cacheMs / MINUTE_MS} minutes; the stored calculation is current for another ${minutes} min`;
    return { kind: 'skipped', reason, dueInMs: remainingMs };
  }
  yield { kind: 'savepoint' };
  let why: SafetySyncError | null = null;
  for (let attempt = 1; attempt <= ATTEMPTS; attempt += 1) {
    yield { kind: 'rollback' };
    const atMs = clock.now();
    const first = await fetchPage(read, requestParams(pageSize));
    const responseClock = { serviceMs: first.serviceTimeMs, ourMs: clock.now() };
    const calculatedAtMs = readLastUpdated(first);
    const check = { atMs, freshForMs: freshFor(cacheMs, responseClock.serviceMs ?? atMs, calculatedAtMs) };
    if (read.kind === 'sync' && calculatedAtMs !== undefined) {
      if (calculatedAtMs === state.calculatedAt?.ms) {
        const note = 'the calculation has not changed';
        return { kind: 'read', covered: null, state: { check, olderSinceMs: null }, note, failure: null };
      }
      if (isOlder(calculatedAtMs, state.calculatedAt, responseClock)) {
        const olderSinceMs = Math.min(state.olderSinceMs ?? atMs, atMs);
        const dueInMs = olderSinceMs + cacheMs - atMs;
        if (dueInMs > 0) {
          const reason = `last_updated went back to ${new Date(calculatedAtMs).toISOString()}: nothing is taken from an older calculation until the service has told no newer one for ${cacheMs / MINUTE_MS} minutes (backfill ${stream.name} takes it now)`;
          // The stored calculation is no fresher for it, so its own check stays.
          return { kind: 'skipped', reason, state: { olderSinceMs }, dueInMs };
        }
      }
    }
    why = yield* readPages(read, { first, calculatedAtMs, pageSize });
    if (why === null) {
      return {
        kind: 'read',
        covered: { parts: null },
        state: { check, olderSinceMs: null, calculatedAt: toCalculatedAt(calculatedAtMs, responseClock) },
        note: null,
        failure: null,
      };
    }
  }
  throw why ?? new SafetySyncError('internal_error', 'no attempt was made');
}
