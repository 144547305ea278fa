/** Requests one record, in the fewest requests that the service offers: it has a method by id for users only. */
import type { Received } from '../../shared/received.ts';
import { SafetySyncError } from '../../shared/errors.ts';
import { ExactNumber } from '../../shared/exact-number.ts';
import type { ReadContext, WireRecord } from '../streams/stream.ts';
import { recordKey } from '../streams/wire.ts';
import { isOlder, readLastUpdated, requestParams } from './cached-list.ts';
import { toCreationFilters } from './creation-slice.ts';
import { askForUser } from './lookup.ts';
import { isRefused, pages, PageTally, type Params, type PageSource } from './pages.ts';
import type { KnownRecord, ReadRequest, SyncSettings } from './read-request.ts';
import { readMs } from './record-fields.ts';
import { NO_TYPES, readPartition, type PartitionRequest, toPartitionRequests } from './snapshot.ts';
import { records, type ReadOutcome, type Steps } from './step.ts';

type OneRequest = PageSource & Pick<ReadRequest, 'settings'>;

export interface FoundRecord {
  readonly record: Received;
  readonly about: ReadContext;
  /** Time of the response by the service's clock, ms. */
  readonly serviceTimeMs?: number | undefined;
}

/** null: the service does not have it. */
export async function askForRecord(read: OneRequest, known: KnownRecord): Promise<FoundRecord | null> {
  try {
    return await findRecord(read, known);
  } catch (error) {
    if (!(error instanceof SafetySyncError) || error.code !== 'read_incomplete') throw error;
    // The usual advice is wrong here, because it states that the received records are stored.
    const advice = 'The service announces other records than it delivers: nothing was compared or stored.';
    throw new SafetySyncError(error.code, error.message, { cause: error, advice });
  }
}

async function findRecord(read: OneRequest, known: KnownRecord): Promise<FoundRecord | null> {
  const { readMode } = read.stream;
  switch (readMode.kind) {
    case 'lookup': {
      const lookup = await askForUser(read, known.key);
      return lookup.kind === 'unknown' ? null : { record: lookup.record, about: {} };
    }
    case 'cached_list':
      return await findOnPages(read, known, { ...requestParams(1), m_user_ids: [known.key] });
    case 'incremental':
      return await findFirst(requestsFor(known.stored), (params) =>
        findOnPages(read, known, { limit: readMode.pageSize, ...params }),
      );
    case 'snapshot': {
      const types = readMode.per === 'account' ? null : typesFor(known, read.settings);
      return await findFirst(toPartitionRequests(read.stream, types), (request) =>
        findInPartition(read, known, request),
      );
    }
  }
}

/** A service that ignores a filter announces pages of all records. */
async function findOnPages(
  read: OneRequest,
  { key }: KnownRecord,
  params: Params,
): Promise<FoundRecord | null> {
  const { keyField, method } = read.stream;
  const tally = new PageTally(keyField);
  for await (const page of pages(read, params, { tally })) {
    // The last one, as in the merge, where several have the key.
    const record = page.records.findLast((one) => recordKey(one, keyField) === key);
    const calculatedAtMs = readLastUpdated(page);
    const about = calculatedAtMs === undefined ? {} : { calculatedAtMs };
    if (record !== undefined) return { record, about, serviceTimeMs: page.serviceTimeMs };
  }
  const shortfall = tally.shortfall();
  if (shortfall === null) return null;
  throw new SafetySyncError('read_incomplete', `${method}: ${shortfall}`);
}

function toNumberParameter(value: unknown): number | ExactNumber | undefined {
  if (typeof value === 'number' || value instanceof ExactNumber) return value;
  if (typeof value !== 'string' || !/^\d+$/.test(value)) return undefined;
  return Number.isSafeInteger(Number(value)) ? Number(value) : new ExactNumber(value);
}

/**
 * Filters by values that never change in a follow-up: its form response and its creation time. The narrowest request is
 * first. Without a stored record the whole list is read until the record appears, because the service has no filter by the
 * id of a follow-up.
 */
function requestsFor(stored: WireRecord | null): readonly Params[] {
  const responseId = toNumberParameter(stored?.['response_id']);
  const createdMs = readMs(stored?.['created_on']);
  const byResponse = responseId === undefined ? [] : [{ response_id: responseId }];
  const fromMs = Math.floor(createdMs ?? NaN);
  const byTime = createdMs === undefined ? [] : [toCreationFilters({ fromMs, toMs: fromMs + 1 })];
  // First both stored values, then each alone, because one of them may be wrong.
  const both = byResponse.flatMap((one) => byTime.map((other) => ({ ...one, ...other })));
  // The creation time may be corrected: without the response everything is read before the record counts as gone.
  return [...both, ...byResponse, ...byTime, ...(responseId === undefined ? [{}] : [])];
}

/**
 * Sends requests one after the other until one finds the record. If one was refused, the others cannot prove that the
 * record is absent.
 */
async function findFirst<Question>(
  questions: readonly Question[],
  find: (question: Question) => Promise<FoundRecord | null>,
): Promise<FoundRecord | null> {
  let refused: SafetySyncError | undefined;
  for (const question of questions) {
    try {
      const found = await find(question);
      if (found !== null) return found;
    } catch (error) {
      if (!isRefused(error)) throw error;
      refused ??= error;
    }
  }
  if (refused !== undefined) throw refused;
  return null;
}

/** If several records have one key the last one counts, as in the merge: the response is read to its end. */
async function findInPartition(
  source: OneRequest,
  { key }: KnownRecord,
  request: PartitionRequest,
): Promise<FoundRecord | null> {
  let found: FoundRecord | null = null;
  const steps = readPartition({ source, request, names: new Set([key]) });
  for (;;) {
    const next = await steps.next();
    if (next.done === true) {
      if (next.value === null || found !== null) return found;
      throw next.value;
    }
    if (next.value.kind === 'rollback') found = null;
    const record = next.value.kind === 'records' ? next.value.records.at(-1) : undefined;
    if (record !== undefined) found = { record, about: request.about };
  }
}

/** First the type of its last response, then the other configured types. */
function typesFor({ requestedType }: KnownRecord, { equipmentTypes }: SyncSettings): readonly string[] {
  const types = new Set([...(requestedType === null ? [] : [requestedType]), ...equipmentTypes]);
  if (types.size > 0) return [...types];
  throw new SafetySyncError('configuration_invalid', NO_TYPES);
}

/**
 * The steps of a run that stores one record as the service has it now. The run's note does not contain the key, because it
 * may identify a person and notes are kept.
 */
export async function* readOneRecord(read: ReadRequest, known: KnownRecord): Steps<ReadOutcome> {
  const found = await askForRecord(read, known);
  if (found === null) {
    return { kind: 'skipped', reason: 'the service does not have that record: there is nothing to store' };
  }
  const { calculatedAtMs } = found.about;
  const clock = { serviceMs: found.serviceTimeMs, ourMs: read.service.clock.now() };
  if (calculatedAtMs !== undefined && isOlder(calculatedAtMs, read.state.calculatedAt, clock)) {
    const reason = `the service responds from the training list of ${new Date(calculatedAtMs).toISOString()}, which is older than the stored one: try again when its cache has expired`;
    return { kind: 'skipped', reason };
  }
  yield records([found.record], found.about);
  return { kind: 'read', covered: null, note: 'stored one record again', failure: null };
}
