/** Lists that are one response per partition: the account, or an equipment type (specification: resources.list, equipments.list). */
import { isRequestSpecific } from '../api/response-errors.ts';
import { ignoreRejection, SafetySyncError } from '../../shared/errors.ts';
import { formatNumber } from '../../shared/format.ts';
import { describeUnread, unreadOf } from '../streams/unread-partitions.ts';
import { isLeftAlone, isNotOffered } from '../streams/optional-methods.ts';
import {
  askedOf,
  isBeyondLast,
  isOfOneRequest,
  readOptionalList,
  readWholeList,
  recordName,
} from './list.ts';
import { isEnough, isPlainSync, type ReadRequest } from './read-request.ts';
import { records, type ReadOutcome, type Steps, writes } from './step.ts';

const NO_TYPES =
  'the service does not list its equipment types, and none is configured (SAFETY_EQUIPMENT_TYPES, or equipment_types of the entry in the accounts file)';

interface PartitionsToRead {
  /** null: the account is the only partition. */
  readonly types: readonly string[] | null;
  /** Types that the list lacks: the service may refuse them, and then they have no equipment. */
  readonly unlisted?: readonly string[];
  readonly note?: string | null;
}

/**
 * The configured types, else those that the service lists and those that have rows; without a usable list those that were stored
 * last. null: none are configured or stored, and the service does not list them. Error: the list's, when no type is stored.
 */
async function* findTypes(read: ReadRequest): Steps<PartitionsToRead | null> {
  const { service, warehouse } = read;
  const { equipmentTypes: configured } = read.settings;
  const { named, stored } = await warehouse.readTypes();
  if (configured.length > 0)
    return { types: [...new Set(configured)], note: describeUnread(unreadOf(stored, configured)) };
  const method = 'equipmenttypes.list';
  const last = (await warehouse.readOptionalMethods()).get(method);
  const isAsked = !isPlainSync(read) || !isLeftAlone(last);
  const list = isAsked ? await readOptionalList(service, method) : undefined;
  const { code } = list?.result ?? last ?? { code: null };
  if (list !== undefined && isNotOffered(code)) yield writes({ kind: 'methods', results: [list.result] });
  const withRows = stored.filter(({ live }) => live > 0).map(({ partition }) => partition);
  const listed = new Set(list?.records.map((one) => recordName(one, 'id')));
  const known = named.filter((id) => listed.has(id));
  if (listed.size > 0 && isEnough(read, known.length, named.length)) {
    const unlisted = withRows.filter((id) => !listed.has(id));
    return { types: [...listed, ...unlisted], unlisted };
  }
  const types = [...new Set([...named, ...withRows])];
  if (types.length === 0 && isNotOffered(code)) return null;
  if (types.length === 0 && list?.failure != null) throw list.failure;
  const why = code === null ? `has ${formatNumber(listed.size, 'type')}` : `failed (${code})`;
  return { types, note: `${method} ${why}, so the types stored last were read: ${types.length}` };
}

/**
 * Sends the requests. The failure of one concerns that partition alone, and the others are read. The exception is a service
 * that cannot be reached or throttles every request: it would fail for each further partition after all retries again.
 */
async function* readPartitions({ stream, service }: ReadRequest, { types, unlisted = [] }: PartitionsToRead) {
  const failures: SafetySyncError[] = [];
  const all = types ?? [null];
  const ask = (type: string | null) => {
    const params =
      type === null ? {} : { equipmentType_id: type, service_type: 'all', include_null_metavalues: true };
    // After a failure two attempts show whether the service fails for all partitions.
    const retries = failures.some(isRequestSpecific) ? 1 : undefined;
    return ignoreRejection(readWholeList(service, { ...askedOf(stream, params), retries }));
  };
  let ahead: ReturnType<typeof ask> | undefined;
  for (const [at, type] of all.entries()) {
    const { failure, ...list } = await (ahead ?? ask(type));
    const isEmpty = failure !== null && unlisted.includes(type ?? '') && isBeyondLast(failure);
    if (failure !== null && !isEmpty) failures.push(failure);
    const isOver = failure !== null && !isOfOneRequest(failure);
    // The next partition is requested while this one is stored.
    const next = all[at + 1];
    if (next !== undefined && !isOver) ahead = ask(next);
    yield records(list.records, type === null ? {} : { equipmentTypeId: type });
    if (isOver) break;
  }
  return failures;
}

/** Reads every partition: the account, or each equipment type. Without a proof that all was shown nothing is deleted. */
export async function* readSnapshot(read: ReadRequest): Steps<ReadOutcome> {
  const { stream, onlyRecord } = read;
  const { equipmentType_id: ownType } = onlyRecord?.stored ?? {};
  // The reader ends where the record is found: nearly always in the list of its own type.
  if (typeof ownType === 'string') yield* readPartitions(read, { types: [ownType] });
  const found: PartitionsToRead | null =
    stream.partitionedBy === undefined ? { types: null } : yield* findTypes(read);
  if (found === null && onlyRecord !== undefined)
    throw new SafetySyncError('configuration_invalid', NO_TYPES);
  if (found === null) return { kind: 'skipped', reason: NO_TYPES };
  const { types, note } = found;
  const covered = { partitions: types };
  let failures = yield* readPartitions(read, found);
  // Equipment with a type that changed between two requests may be in neither response: all types are read once more.
  const isSeveral = types !== null && types.length > 1;
  if (failures.length === 0 && isSeveral && (await read.warehouse.findVanished(covered)).size > 0)
    failures = yield* readPartitions(read, found);
  const [failure = null] = failures;
  // A record in no response may have moved to a type that was not read.
  return { kind: 'read', covered: failure === null ? covered : null, note: note ?? null, failure };
}
