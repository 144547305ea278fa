/** Lists that are one response per partition: the account, or an equipment type (specification: resources.list, equipments.list; no paging is specified). */
import type { Received } from '../../shared/received.ts';
import { isRequestSpecific } from '../api/response-errors.ts';
import type { Paging } from '../api/requests.ts';
import { SafetySyncError } from '../../shared/errors.ts';
import type { ReadContext, StreamDefinition } from '../streams/stream.ts';
import { isRefused, pages, PageTally, type Params, type PageSource, toListRequest } from './pages.ts';
import type { ReadRequest } from './read-request.ts';
import { recordName } from './record-fields.ts';
import { records, type ReadOutcome, type Steps } from './step.ts';

export const NO_TYPES =
  'no equipment type is configured (SAFETY_EQUIPMENT_TYPES, or equipment_types of the entry in the accounts file)';

/** How often a list with unasked pages is read before it counts as not consistent. */
const PAGED_ATTEMPTS = 3;

/** Different records of one response that are counted; the names of more would take too much memory. */
const MOST_NAMES = 50_000;

/** The request for one partition of a snapshot. */
export interface PartitionRequest {
  readonly label: string;
  readonly params: Params;
  readonly about: ReadContext;
}

interface PartitionRead {
  readonly source: PageSource;
  readonly request: PartitionRequest;
  /** Names of the records to take; absent: all. */
  readonly names?: ReadonlySet<string> | undefined;
  readonly fewRetries?: boolean;
}

function takeRecords({ source: { stream }, request, names }: PartitionRead, list: readonly Received[]) {
  return records(
    names === undefined ? list : list.filter((one) => names.has(recordName(one, stream.keyField))),
    request.about,
  );
}

/** `distinct`: different records; null: too many to count. Paging that announces nothing usable is a sign of further pages. */
function isWhole(paging: Paging | undefined, distinct: number | null): boolean {
  if (paging === undefined) return true;
  const { total, lastPage } = paging;
  if (total === undefined && lastPage === undefined) return false;
  return (lastPage ?? 1) <= 1 && (total === undefined || distinct === total);
}

/** A list as it arrives, from its beginning again when its response breaks off. Returns whether there are no further pages. */
async function* readResponse(read: PartitionRead): Steps<boolean> {
  const { source, request, fewRetries } = read;
  const { keyField } = source.stream;
  const list = source.service.api.list(toListRequest(source, request.params, fewRetries));
  const names = new Set<string>();
  try {
    for (;;) {
      const next = await list.next();
      if (next.done === true) return isWhole(next.value.paging, names.size < MOST_NAMES ? names.size : null);
      if (next.value.kind === 'restart') {
        names.clear();
        yield { kind: 'rollback' };
        continue;
      }
      for (const record of next.value.records)
        if (names.size < MOST_NAMES) names.add(recordName(record, keyField));
      yield takeRecords(read, next.value.records);
    }
  } finally {
    // A consumer that stops in the middle ends the request.
    await list.return(undefined as never);
  }
}

/**
 * The pages that a list announced without a request for pages. Returns null when they show everything, else
 * what is missing.
 */
async function* readAnnouncedPages(read: PartitionRead): Steps<string | null> {
  let shortfall: string | null = null;
  for (let attempt = 1; attempt <= PAGED_ATTEMPTS; attempt += 1) {
    yield { kind: 'rollback' };
    const tally = new PageTally(read.source.stream.keyField);
    for await (const page of pages(read.source, read.request.params, { tally }))
      yield takeRecords(read, page.records);
    shortfall = tally.shortfall();
    if (shortfall === null) return null;
    // The parameter itself is refused: another attempt would be, too.
    if (tally.refused?.code === 'parameter_unexpected')
      return `${shortfall}; page ${tally.lastPage ?? 0} is announced, but a further page is refused (${tally.refused.code})`;
  }
  return shortfall;
}

/** Sends one request. Returns null when it is complete, else what is missing. */
export async function* readPartition(read: PartitionRead): Steps<SafetySyncError | null> {
  yield { kind: 'savepoint' };
  const missing = (yield* readResponse(read)) ? null : yield* readAnnouncedPages(read);
  return missing === null
    ? null
    : new SafetySyncError('read_incomplete', `${read.request.label}: ${missing}`);
}

/**
 * Sends the requests. The failure of one concerns that partition alone: its records are rolled back, and the others are read. The
 * exception is a service that cannot be reached or throttles every request: it would fail for each further partition after all
 * retries again.
 */
async function* readPartitions(
  source: PageSource,
  requests: readonly PartitionRequest[],
  names?: ReadonlySet<string>,
): Steps<SafetySyncError[]> {
  const failures: SafetySyncError[] = [];
  for (const request of requests) {
    try {
      // After a failure two attempts show whether the service fails for all partitions.
      const fewRetries = failures.some(isRequestSpecific);
      const missing = yield* readPartition({ source, request, names, fewRetries });
      if (missing !== null) failures.push(missing);
    } catch (error) {
      const isOfThisRequest = isRequestSpecific(error) || isRefused(error);
      if (!isOfThisRequest && !(error instanceof SafetySyncError && error.recovery === 'retry')) throw error;
      yield { kind: 'rollback' };
      failures.push(error);
      if (!isOfThisRequest) break;
    }
  }
  return failures;
}

function joinTypeFailures(failures: readonly SafetySyncError[]): SafetySyncError | null {
  const [first, ...others] = failures;
  if (first === undefined || others.length === 0) return first ?? null;
  const message = `${failures.length} equipment types failed: ${failures.map((one) => one.message).join('; ')}`;
  return new SafetySyncError(first.code, message, { cause: first, requestId: first.requestId });
}

/** One request for each equipment type; `types` null: one request, for the account. */
export function toPartitionRequests(
  { method }: StreamDefinition,
  types: readonly string[] | null,
): readonly PartitionRequest[] {
  if (types === null) return [{ label: method, params: {}, about: {} }];
  return types.map((type) => ({
    label: `equipment type ${type}`,
    params: { equipmentType_id: type, service_type: 'all', include_null_metavalues: true },
    about: { equipmentTypeId: type },
  }));
}

/** Reads every partition: the account, or each configured equipment type. */
export async function* readSnapshot(
  read: ReadRequest,
  per: 'account' | 'equipment_type',
): Steps<ReadOutcome> {
  const types = per === 'account' ? null : [...new Set(read.settings.equipmentTypes)];
  if (types?.length === 0) {
    return { kind: 'skipped', reason: NO_TYPES };
  }
  const requests = toPartitionRequests(read.stream, types);
  const failures = yield* readPartitions(read, requests);
  const covered = { partitions: types };
  if (failures.length === 0 && requests.length > 1) {
    // Equipment with a type that changed between two requests may be in neither response. All types are read once more for
    // the records that are missing; those that are missing again were deleted.
    const vanished = await read.warehouse.findVanished(covered);
    if (vanished.size > 0) failures.push(...(yield* readPartitions(read, requests, vanished)));
  }
  return {
    kind: 'read',
    // A record in no response may have moved to a type that was not read.
    covered: failures.length === 0 ? covered : null,
    failure: joinTypeFailures(failures),
  };
}
