/** Lists that are one response per part: the account, or an equipment type (specification: resources.list, equipments.list; no paging is specified). */
import type { ListResponse, ListRequest } from '../api/requests.ts';
import type { Received } from '../shared/received.ts';
import { SafetySyncError } from '../shared/errors.ts';
import type { ReadContext, StreamDefinition } from '../streams/stream.ts';
import { keyOf } from '../streams/wire.ts';
import { createPageTally, fetchPage, isRefusedPage, listOf, MOST_PAGES, nameOf } from './pages.ts';
import type { ReadRequest } from './read-request.ts';
import { records, type ReadOutcome, type Steps } from './step.ts';

/** Reads of a list with unasked pages before it counts as not consistent. */
const PAGED_ATTEMPTS = 3;

/** Records of one response that are told apart: those of a larger one would take too much memory. */
const MOST_NAMES = 50_000;

/** One request of a snapshot. */
export interface Part {
  readonly label: string;
  readonly params: Readonly<Record<string, unknown>>;
  readonly about: ReadContext;
}

interface PartRead {
  readonly read: Pick<ReadRequest, 'stream' | 'service'>;
  readonly part: Part;
  /** The keys of the records to take: the others were taken before, or are not asked for; absent: all. */
  readonly missingKeys?: ReadonlySet<string> | undefined;
}

function toRecordsStep({ read: { stream }, part, missingKeys }: PartRead, list: readonly Received[]) {
  const wanted =
    missingKeys === undefined
      ? list
      : list.filter((one) => missingKeys.has(keyOf(one, stream.keyField) ?? ''));
  return records(wanted, part.about);
}

interface StreamedList extends ListResponse {
  /** Different records; null: too many to tell. */
  readonly distinct: number | null;
}

/** A list as it arrives. When the response breaks in the middle it is asked for again, from its beginning. */
async function* readStreamed(partRead: PartRead, request: ListRequest): Steps<StreamedList> {
  const parts = partRead.read.service.api.list(request);
  const names = new Set<string>();
  try {
    for (;;) {
      const next = await parts.next();
      if (next.done === true) return { ...next.value, distinct: names.size < MOST_NAMES ? names.size : null };
      if (next.value.kind === 'restart') {
        names.clear();
        yield { kind: 'rollback' };
        continue;
      }
      for (const record of next.value.records) {
        if (names.size < MOST_NAMES) names.add(nameOf(record, partRead.read.stream.keyField));
      }
      yield toRecordsStep(partRead, next.value.records);
    }
  } finally {
    // Whoever stops in the middle ends the request.
    await parts.return(undefined as never);
  }
}

/** The pages that a list announced without being asked. Returns null when everything was had, else what is missing. */
async function* readAnnouncedPages(partRead: PartRead): Steps<string | null> {
  const { read, part } = partRead;
  let shortfall: string | null = null;
  for (let attempt = 1; attempt <= PAGED_ATTEMPTS; attempt += 1) {
    yield { kind: 'rollback' };
    const tally = createPageTally();
    let refused: SafetySyncError | undefined;
    for (let number = 1; number <= MOST_PAGES; number += 1) {
      try {
        const page = await fetchPage(read, number === 1 ? part.params : { ...part.params, page: number });
        tally.add(page, read.stream.keyField);
        yield toRecordsStep(partRead, page.records);
        if (!tally.hasFurther(number)) break;
      } catch (error) {
        if (number === 1 || !isRefusedPage(error)) throw error;
        refused = error;
        break;
      }
    }
    shortfall = tally.shortfall();
    if (shortfall === null) return null;
    // The parameter itself is refused: another attempt would be told the same.
    if (refused?.code === 'parameter_unexpected') {
      return `${shortfall}; page ${tally.lastPage ?? 0} is announced, but a further page is refused (${refused.code})`;
    }
  }
  return shortfall;
}

/**
 * Without a paging object a response is the whole list; with one, if it tells a total or a last page and neither says that
 * there is more, nor less than came.
 */
function isWhole({ paging, distinct }: StreamedList): boolean {
  if (paging === undefined) return true;
  const { total, lastPage } = paging;
  if (total === undefined && lastPage === undefined) return false;
  return (lastPage ?? 1) <= 1 && (total === undefined || distinct === total);
}

/** Reads one part. Returns null when it is complete, else what is missing. */
export async function* readPart(partRead: PartRead): Steps<string | null> {
  const { stream, service } = partRead.read;
  yield { kind: 'savepoint' };
  const response = yield* readStreamed(partRead, {
    method: stream.method,
    ...listOf(stream),
    params: partRead.part.params,
    meter: service.meter,
    signal: service.signal,
  });
  return isWhole(response) ? null : yield* readAnnouncedPages(partRead);
}

/** Reads all parts. The failure of one is that part's own: what came of it is void, the others are read. */
async function* readParts(
  read: ReadRequest,
  parts: readonly Part[],
  missingKeys?: ReadonlySet<string>,
): Steps<SafetySyncError[]> {
  const failures: SafetySyncError[] = [];
  for (const part of parts) {
    try {
      const missing = yield* readPart({ read, part, missingKeys });
      if (missing !== null)
        failures.push(new SafetySyncError('read_incomplete', `${part.label}: ${missing}`));
    } catch (error) {
      const isOfThisPart =
        error instanceof SafetySyncError && error.recovery !== 'fail_run' && isServiceFailure(error);
      if (!isOfThisPart) throw error;
      yield { kind: 'rollback' };
      failures.push(error);
    }
  }
  return failures;
}

/** Failures of the service's responses, as opposed to those of the warehouse or a stop by signal. */
function isServiceFailure(error: SafetySyncError): boolean {
  return (
    error.code !== 'interrupted' &&
    error.code !== 'lock_lost' &&
    error.code !== 'internal_error' &&
    !error.code.startsWith('database_')
  );
}

function joinFailures(failures: readonly SafetySyncError[]): SafetySyncError | null {
  const [first, ...others] = failures;
  if (first === undefined || others.length === 0) return first ?? null;
  const message = `${failures.length} equipment types failed: ${failures.map((one) => one.message).join('; ')}`;
  return new SafetySyncError(first.code, message, { cause: first, requestId: first.requestId });
}

/** The one part of a snapshot of the account. */
export const toWhole = ({ method }: StreamDefinition): Part => ({ label: method, params: {}, about: {} });

export const toTypePart = (type: string): Part => ({
  label: `equipment type ${type}`,
  params: { equipmentType_id: type, service_type: 'all', include_null_metavalues: true },
  about: { equipmentTypeId: type },
});

export async function* readAccountSnapshot(read: ReadRequest): Steps<ReadOutcome> {
  const { method } = read.stream;
  const missing = yield* readPart({ read, part: toWhole(read.stream) });
  return {
    kind: 'read',
    covered: missing === null ? { parts: null } : null,
    state: {},
    note: null,
    failure: missing === null ? null : new SafetySyncError('read_incomplete', `${method}: ${missing}`),
  };
}

export async function* readEquipmentTypes(read: ReadRequest): Steps<ReadOutcome> {
  const types = [...new Set(read.settings.equipmentTypes)];
  if (types.length === 0) {
    return { kind: 'skipped', reason: 'SAFETY_EQUIPMENT_TYPES is empty: no equipment type to ask for' };
  }
  const parts = types.map(toTypePart);
  const failures = yield* readParts(read, parts);
  const covered = { parts: types };
  if (failures.length === 0 && types.length > 1) {
    // Equipment that changed its type between two requests may be in neither response. All types are read once more for
    // what is missing; what is missing then too was deleted.
    const vanished = await read.warehouse.findVanished(covered);
    if (vanished.size > 0) failures.push(...(yield* readParts(read, parts, vanished)));
  }
  return {
    kind: 'read',
    // What is in no response may have moved to a type that was not read.
    covered: failures.length === 0 ? covered : null,
    state: {},
    note: null,
    failure: joinFailures(failures),
  };
}
