/** The one loop over page numbers, which also reads a list that is one response. Each page is held in memory. */
import { type ErrorCode, ignoreRejection, SafetySyncError } from '../../shared/errors.ts';
import type { Received } from '../../shared/received.ts';
import type { ListPage, ListRequest } from '../api/requests.ts';
import { isRequestSpecific } from '../api/response-errors.ts';
import { isNotOffered, listOf, type OptionalListName } from '../streams/optional-methods.ts';
import type { StreamDefinition } from '../streams/stream.ts';
import { readMs, recordKey } from '../streams/wire.ts';
import type { Params, Service } from './read-request.ts';

/** A time field of a record, ms since 1970; undefined where it is absent or unusable. */
export const timeOf = (record: Received, field: string): number | undefined => readMs(record.field(field));

/** Identifies a record that is sent again: by its key, or by its content where it has no usable key. */
export const recordName = (record: Received, keyField: string): string =>
  recordKey(record, keyField) ?? record.text;

interface ListAsked extends Pick<ListRequest, 'method' | 'listKey' | 'retries'> {
  /** The field that identifies a record. */
  readonly keyField: string;
  readonly params: Params;
  /** `limit` of each page; absent: the list is one response, unless it announces further pages. */
  readonly pageSize?: number | undefined;
  /** Other fields of a record that are looked at before it is parsed. */
  readonly peekFields?: readonly string[] | undefined;
}

/** The list of a stream. */
export const askedOf = (
  { method, responseKey: listKey, keyField, peekFields, readMode }: StreamDefinition,
  params: Params = {},
): ListAsked => ({
  ...{ method, listKey, keyField, peekFields, params },
  pageSize: 'pageSize' in readMode ? readMode.pageSize : undefined,
});

const KNOWN_MEMBERS: ReadonlySet<string> = new Set(['ok', 'paging', 'last_updated', 'columns']);

/** `total`: what its first page announced. */
export function incomplete({ method, params }: ListAsked, delivered: number, total = 0): SafetySyncError {
  const why =
    delivered < total
      ? `${total} records were announced, ${delivered} delivered`
      : 'records came or went while its pages were read, or announced pages are missing';
  return new SafetySyncError('read_incomplete', `${method} ${JSON.stringify(params)}: ${why}`);
}

/** Requests one page of a list. */
export async function fetchPage(service: Service, asked: ListAsked, page = 1): Promise<ListPage> {
  const { api, meter, signal } = service;
  const { method, listKey, keyField, params, pageSize, peekFields = [], retries } = asked;
  const got = await api().page({
    ...{ method, listKey, meter, signal, retries },
    fields: [keyField, 'created', ...peekFields],
    params: { ...(pageSize && { limit: pageSize }), ...params, ...(page > 1 && { page }) },
    comesWhole: pageSize === undefined,
  });
  for (const name of Object.keys(got.envelope))
    if (name !== listKey && !KNOWN_MEMBERS.has(name)) meter.unknownMembers.add(name);
  return got;
}

const REFUSED: ReadonlySet<ErrorCode> = new Set([
  'parameter_invalid',
  'parameter_unexpected',
  'content_not_found',
]);

/** The service refuses the request for its parameters. */
export const isRefused = (error: unknown): error is SafetySyncError =>
  error instanceof SafetySyncError && REFUSED.has(error.code);

/** The failure may concern this request only, so that others are worth a try. */
export const isOfOneRequest = (error: SafetySyncError): boolean =>
  error.code === 'read_incomplete' || isRequestSpecific(error) || isRefused(error);

/** With one page ahead the worker waits half of the time when it only compares. */
const PAGES_AHEAD = 3;

/** A page beyond the last one is refused. */
export const isBeyondLast = (error: unknown): boolean =>
  isRefused(error) && error.code !== 'parameter_unexpected';

/**
 * Yields page after page. The list ends with a page that is empty, shows nothing new or is refused; or with one that is shorter
 * than its limit and reaches the total of the first page, because a list may grow meanwhile. A response with as many records
 * as were asked for is never taken as the last one.
 */
export async function* readList(service: Service, asked: ListAsked) {
  const { keyField, pageSize } = asked;
  const names = new Set<string>();
  let total: number | undefined;
  let lastPage = 1;
  /** Those that brought new records. */
  let pages = 0;
  const ahead: Promise<ListPage>[] = [];
  for (let isLast = false; !isLast;) {
    let page: ListPage;
    try {
      page = await (ahead.shift() ?? fetchPage(service, asked, pages + 1));
    } catch (error) {
      if (pages === 0 || !isRefused(error)) throw error;
      // It announces pages, and does not take their numbers: the method is there, and the list is not.
      if (!isBeyondLast(error)) throw incomplete(asked, names.size, total);
      break;
    }
    const known = names.size;
    const { paging, records } = page;
    for (const record of records) names.add(recordName(record, keyField));
    total ??= paging?.total;
    isLast = names.size === known;
    if (!isLast) {
      pages += 1;
      lastPage = Math.max(lastPage, paging?.lastPage ?? 1);
      // Paging without a usable number is a sign of further pages.
      const isReached =
        pages >= lastPage && (total === undefined ? paging === undefined : names.size >= total);
      const mayBeFull = pageSize !== undefined && (total === undefined || records.length >= pageSize);
      isLast = isReached && !mayBeFull;
    }
    // The next pages are requested while this one is stored, the more the longer the read is: the first one may be enough.
    const upTo = isLast ? 0 : Math.min(2 * pages - 1, pages + PAGES_AHEAD, Math.max(pages + 1, lastPage));
    for (let next = pages + ahead.length + 1; next <= upTo; next += 1)
      ahead.push(ignoreRejection(fetchPage(service, asked, next)));
    yield page;
  }
  // Without a total every page that was announced must have brought new records.
  const isComplete = total === undefined ? lastPage === 1 || pages >= lastPage : names.size >= total;
  return { names, total, isComplete };
}

/** A list that shifts while it is read shows all of it within a few passes; more are a service that contradicts itself. */
const MOST_PASSES = 6;

const createdOf = (record: Received): number =>
  timeOf(record, 'created_on') ?? timeOf(record, 'created') ?? -Infinity;

/**
 * Reads by page numbers what may change meanwhile: passes over the list, until one shows no record that the pass before it
 * lacked, except those created since the first pass began, and reaches its total. One response that is complete needs no
 * second pass. Error: `read_incomplete`.
 */
export async function* readSettledList(service: Service, asked: ListAsked) {
  let beganMs: number | undefined;
  let before: ReadonlySet<string> | undefined;
  for (let pass = 1; ; pass += 1) {
    const list = readList(service, asked);
    let [pages, isNew] = [0, false];
    let next = await list.next();
    for (; next.done !== true; next = await list.next()) {
      pages += 1;
      const began = (beganMs ??= next.value.serviceTimeMs ?? service.clock.now());
      const olds = next.value.records.filter((record) => createdOf(record) < began);
      isNew ||= olds.some((record) => before?.has(recordName(record, asked.keyField)) !== true);
      yield next.value;
    }
    const read = next.value;
    if (read.isComplete && (pages === 1 || !isNew)) return;
    if (pass === MOST_PASSES) throw incomplete(asked, read.names.size, read.total);
    before = read.names;
  }
}

/** A list that comes whole. Its failure is thrown only where every further request would fail, too. */
export async function readWholeList(service: Service, asked: ListAsked) {
  const pages: (readonly Received[])[] = [];
  try {
    for await (const page of readSettledList(service, asked)) pages.push(page.records);
    return { records: pages.flat(), failure: null };
  } catch (error) {
    if (!(error instanceof SafetySyncError)) throw error;
    const { code, recovery } = error;
    const isOfAll = ['fail_run', 'fix_usage'].includes(recovery) || code === 'interrupted';
    if (isOfAll && !isNotOffered(code)) throw error;
    return { records: pages.flat(), failure: error };
  }
}

/** A list that the service may lack, which is no failure. `result`: to be remembered with the records. */
export async function readOptionalList(service: Service, method: OptionalListName, params: Params = {}) {
  const { listKey, pageSize } = listOf(method);
  const list = await readWholeList(service, { method, listKey, pageSize, params, keyField: 'id' });
  const { code = null } = list.failure ?? {};
  const failure = isNotOffered(code) ? null : list.failure;
  return { ...list, records: code === null ? list.records : [], failure, result: { method, code } };
}
