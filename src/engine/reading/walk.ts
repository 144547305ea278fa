/**
 * Reads every follow-up of a range of creation time, so that none is missed that existed all the time.
 *
 * A response has the newest records below its upper bound, all of them down to its oldest one, as they are at its instant. The
 * next request begins at that one, its second included, because a service may compare times by seconds. So the ranges that the
 * responses cover leave nothing out, and a record, which never changes its creation time, is in one of them; the records of
 * the second between two ranges are in both, and are yielded once. The end is a response that is shorter than asked and
 * reaches its total; without totals, one that is empty. Records that change meanwhile have a later `updated_on` than the first
 * response shows, and the next read requests them (./watermark.ts).
 */
import type { Received } from '../../shared/received.ts';
import { SafetySyncError } from '../../shared/errors.ts';
import { isRequestSpecific } from '../api/response-errors.ts';
import type { ListPage } from '../api/requests.ts';
import type { LedgerSlice, TimeSlice } from '../streams/state.ts';
import { afterSecondOf, describeRange, secondOf, toFilters, unreadSlice } from './creation-time.ts';
import type { FollowupRun } from './followup-run.ts';
import { recordName, timeOf } from './list.ts';
import type { Params } from './read-request.ts';
import { records, type RecordsStep, type Steps, writes } from './step.ts';
import { type FirstResponse, readFirstResponse } from './watermark.ts';

/** How many times fewer records are requested after a failure for certain records only. */
const NARROWER = 8;

interface WalkStart {
  readonly filters?: Params;
  /** The newest records of the range, which were requested already; without a total they are those of a larger range. */
  readonly newest?: ListPage | undefined;
  /** How far an earlier walk came. */
  readonly begun?: Pick<LedgerSlice, 'readToMs' | 'records'>;
  /** Writes stored together with the records of a response. Everything from `readToMs` on was yielded, but what failed. */
  readonly note?: (reached: Pick<LedgerSlice, 'readToMs' | 'records' | 'expected'>) => Partial<RecordsStep>;
}

const createdOf = (record: Received): number | undefined => timeOf(record, 'created_on');

/** Sorted by creation time and filtered by it. Bounds that are inclusive or compared by seconds show a little more. */
export function isInOrder(list: readonly Received[], { fromMs, toMs }: TimeSlice): boolean {
  let lastMs = afterSecondOf(toMs) - 1;
  return list.every((record) => {
    const createdMs = createdOf(record);
    if (createdMs === undefined || createdMs > lastMs || createdMs < secondOf(fromMs - 1)) return false;
    lastMs = createdMs;
    return true;
  });
}

export async function* walk(run: FollowupRun, range: TimeSlice, start: WalkStart = {}) {
  const { stream, service } = run.read;
  const { filters = {}, begun = { readToMs: range.toMs, records: 0 }, note } = start;
  /** Creation times by name. */
  const seen = new Map<string, number>();
  /** undefined: no request has succeeded. */
  let first: FirstResponse | undefined;
  /** Number of records in the range, by the first response with a total. */
  let announced: number | undefined;
  /** The latest `updated_on` of all records. */
  let latestChangeMs = -Infinity;
  let failures = 0;

  const paramsOf = (part: TimeSlice): Params => ({ ...filters, ...toFilters(part) });
  const nameOf = (record: Received): string => recordName(record, stream.keyField);
  const countSeen = (fromMs: number): number => [...seen.values()].filter((ms) => ms >= fromMs).length;

  /** Those records of a page that this walk has not yielded before. */
  function take(page: readonly Received[], toMs: number): RecordsStep {
    const news = page.filter((record) => !seen.has(nameOf(record)));
    for (const record of news) {
      seen.set(nameOf(record), createdOf(record) ?? toMs);
      latestChangeMs = Math.max(latestChangeMs, timeOf(record, 'updated_on') ?? -Infinity);
    }
    const readToMs = Math.max(toMs, range.fromMs);
    return {
      ...records(news),
      ...note?.({ readToMs, records: begun.records + countSeen(toMs), expected: announced ?? null }),
    };
  }

  function fail(part: TimeSlice, error: SafetySyncError): RecordsStep {
    failures += 1;
    const slice = unreadSlice(part, 'failed');
    run.failed = [...run.failed, { range: slice, error }];
    return writes({ kind: 'slice', slice });
  }

  /** For more records of one second than a response holds, and for another order. */
  async function* readByPages(part: TimeSlice): Steps {
    try {
      for await (const page of run.readSettled(paramsOf(part))) {
        first ??= readFirstResponse(page, service.clock.now());
        yield take(page.records, part.toMs);
      }
      yield take([], part.fromMs);
    } catch (error) {
      const isOfThese = error instanceof SafetySyncError && error.code === 'read_incomplete';
      if (!isOfThese && !isRequestSpecific(error)) throw error;
      yield fail(part, error);
    }
  }

  /** Its order is not that of creation, or its total has more than that order shows. */
  async function* readAllByPages() {
    yield* readByPages(range);
    run.notes.push(
      `read by page numbers, which is slower: ${stream.method}, created ${describeRange(range)}, is not sorted by creation time, newest first, or lacks what it announces`,
    );
    return { first, announced, latestChangeMs, seen };
  }

  let { newest } = start;
  let limit = run.pageSize;
  for (let upperMs = begun.readToMs; upperMs > range.fromMs;) {
    const part = { fromMs: range.fromMs, toMs: upperMs };
    let page: ListPage;
    try {
      page = newest ?? (await run.ask({ ...paramsOf(part), limit }, limit < run.pageSize));
      newest = undefined;
    } catch (error) {
      if (!isRequestSpecific(error)) throw error;
      if (limit > 1) limit = Math.max(1, Math.floor(limit / NARROWER));
      else {
        const beyond = await run.askBeyond(paramsOf(part), error);
        const createdMs = (beyond && createdOf(beyond)) ?? -Infinity;
        const fromMs = Math.max(range.fromMs, Math.min(Math.floor(createdMs) + 1, upperMs - 1));
        yield fail({ fromMs, toMs: upperMs }, error);
        upperMs = fromMs;
        limit = run.pageSize;
      }
      continue;
    }
    first ??= readFirstResponse(page, service.clock.now());
    if (page.paging?.total !== undefined) announced ??= countSeen(upperMs) + page.paging.total;
    const last = page.records.at(-1);
    const total = page.paging?.total ?? (last === undefined ? 0 : Infinity);
    if (page.records.length < limit && new Set(page.records.map(nameOf)).size >= total) {
      yield take(page.records, range.fromMs);
      break;
    }
    limit = Math.min(run.pageSize, limit * NARROWER);
    if (last === undefined || !isInOrder(page.records, part)) return yield* readAllByPages();
    const oldestMs = Math.floor(createdOf(last) ?? 0);
    const second = { fromMs: secondOf(oldestMs), toMs: afterSecondOf(oldestMs) };
    yield take(page.records, second.toMs);
    if (second.toMs < upperMs) upperMs = second.toMs;
    else {
      yield* readByPages(second);
      upperMs = Math.min(second.fromMs, upperMs - 1);
    }
  }
  if (failures === 0 && begun.records === 0 && first !== undefined && seen.size < (announced ?? 0)) {
    // A whole walk without a failure: records were deleted meanwhile, or the order is another one. Changes since the first response do not count.
    const updated_before = Math.max(first.timeMs, first.seenMs + 1);
    const { paging } = await run.ask({ ...paramsOf(range), updated_before, limit: 1 });
    if (seen.size < (paging?.total ?? 0)) return yield* readAllByPages();
  }
  return { first, announced, latestChangeMs, seen };
}
