/** Lists that are one response per partition: the account, or an equipment type (specification: resources.list, equipments.list). */
import { isRequestSpecific } from '../api/response-errors.ts';
import { SafetySyncError } from '../../shared/errors.ts';
import type { ReadContext } from '../streams/stream.ts';
import { findTypes } from './equipment-types.ts';
import { isBeyondLast, isRefused, type Params, readSettledList } from './list.ts';
import type { ReadRequest } from './read-request.ts';
import { records, type ReadOutcome, type Steps } from './step.ts';

export const NO_TYPES =
  'the service does not list its equipment types, and none is configured (SAFETY_EQUIPMENT_TYPES, or equipment_types of the entry in the accounts file)';

/** The request for one partition of a snapshot. */
interface PartitionRequest {
  readonly params: Params;
  readonly about: ReadContext;
  /** The source may have it no more: where the service refuses it, it is empty. */
  readonly mayBeGone?: boolean;
}

/** One request for each equipment type; `types` null: one request, for the account. */
export function toPartitionRequests(
  types: readonly string[] | null,
  unlisted: ReadonlySet<string> = new Set(),
): readonly PartitionRequest[] {
  if (types === null) return [{ params: {}, about: {} }];
  return types.map((type) => ({
    params: { equipmentType_id: type, service_type: 'all', include_null_metavalues: true },
    about: { equipmentTypeId: type },
    mayBeGone: unlisted.has(type),
  }));
}

interface PartitionsRead {
  readonly failures: readonly SafetySyncError[];
  /** Members of responses that no specification names: they may say that something is missing. */
  readonly unknown: readonly string[];
}

/**
 * Sends the requests. The failure of one concerns that partition alone, and the others are read. The exception is a service
 * that cannot be reached or throttles every request: it would fail for each further partition after all retries again.
 */
async function* readPartitions(
  { stream, service }: ReadRequest,
  requests: readonly PartitionRequest[],
): Steps<PartitionsRead> {
  const { method, responseKey: listKey, keyField, peekFields } = stream;
  const failures: SafetySyncError[] = [];
  const unknown = new Set<string>();
  for (const { params, about, mayBeGone } of requests) {
    // After a failure two attempts show whether the service fails for all partitions.
    const retries = failures.some(isRequestSpecific) ? 1 : undefined;
    const asked = {
      method,
      listKey,
      keyField,
      peekFields,
      params,
      retries,
      createdField: 'created',
    };
    const list = readSettledList(service, asked);
    try {
      let next = await list.next();
      for (; next.done !== true; next = await list.next()) yield records(next.value.records, about);
      for (const name of next.value.unknownMembers) unknown.add(name);
    } catch (error) {
      if (mayBeGone === true && isBeyondLast(error)) continue;
      const isIncomplete = error instanceof SafetySyncError && error.code === 'read_incomplete';
      const isOfThisRequest = isIncomplete || isRequestSpecific(error) || isRefused(error);
      if (!isOfThisRequest && !(error instanceof SafetySyncError && error.recovery === 'retry')) throw error;
      failures.push(error);
      if (!isOfThisRequest) break;
    }
  }
  return { failures, unknown: [...unknown] };
}

function joinTypeFailures(failures: readonly SafetySyncError[]): SafetySyncError | null {
  const [first, ...others] = failures;
  if (first === undefined || others.length === 0) return first ?? null;
  const message = `${failures.length} equipment types failed: ${failures.map((one) => one.message).join('; ')}`;
  return new SafetySyncError(first.code, message, { cause: first, requestId: first.requestId });
}

/** Reads every partition: the account, or each configured equipment type. Without a proof that all was shown nothing is deleted. */
export async function* readSnapshot(
  read: ReadRequest,
  per: 'account' | 'equipment_type',
): Steps<ReadOutcome> {
  const found = per === 'account' ? null : await findTypes(read);
  const types = found === null ? null : found.types;
  if (found !== null && found.types === null) {
    if (found.result !== null)
      yield { ...records([]), writes: [{ kind: 'methods', results: [found.result] }] };
    return { kind: 'skipped', reason: NO_TYPES };
  }
  const requests = toPartitionRequests(types, found?.unlisted);
  const covered = { partitions: types };
  let { failures, unknown } = yield* readPartitions(read, requests);
  const isWhole = () => failures.length === 0 && unknown.length === 0;
  // Equipment with a type that changed between two requests may be in neither response: all types are read once more.
  if (isWhole() && requests.length > 1 && (await read.warehouse.findVanished(covered)).size > 0)
    ({ failures, unknown } = yield* readPartitions(read, requests));
  return {
    kind: 'read',
    // A record in no response may have moved to a type that was not read.
    covered: isWhole() ? covered : null,
    note: [found?.note, describeUnknown(unknown)].filter((note) => note != null).join('; ') || null,
    failure: joinTypeFailures(failures),
  };
}

/** null: there are none. */
export const describeUnknown = (names: readonly string[]): string | null =>
  names.length === 0
    ? null
    : `nothing was marked deleted, because the response has members that are not known: ${names.join(', ')}`;
