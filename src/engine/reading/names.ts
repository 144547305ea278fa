/** Reads the lists that name ids: those that are due, as far as the service has them. */
import { SafetySyncError } from '../../shared/errors.ts';
import type { Received } from '../../shared/received.ts';
import { isRequestSpecific } from '../api/response-errors.ts';
import { toNameRecords } from '../streams/names.ts';
import {
  isListDue,
  isNotOffered,
  kindsOf,
  type MethodResult,
  type MethodState,
  NAMING_LISTS,
  type OptionalListName,
  type OptionalMethod,
} from '../streams/optional-methods.ts';
import { isWireRecord, recordKey } from '../streams/wire.ts';
import { type ListRead, readOptionalList } from './optional-list.ts';
import { isRefused } from './list.ts';
import type { NamesState } from '../streams/state.ts';
import type { KnownRecord, ReadRequest } from './read-request.ts';
import { records, type ReadOutcome, type Steps } from './step.ts';

type States = ReadonlyMap<string, MethodState>;

const kindOfKey = (key: string): string => key.slice(0, key.indexOf(':'));

/** `sync`: those whose time has come, and those that may name an id which was first met since they were read. */
function dueLists(
  { kind, force = false }: ReadRequest,
  states: States,
  { unnamed }: NamesState,
): OptionalListName[] {
  if (force || kind !== 'sync') return NAMING_LISTS;
  return NAMING_LISTS.filter((method) => {
    const state = states.get(method);
    const known = new Set(state?.unnamed);
    const kinds = kindsOf(method);
    return isListDue(
      state,
      unnamed.some((key) => kinds.includes(kindOfKey(key)) && !known.has(key)),
    );
  });
}

/** By hand, a failure that waits for its next attempt is not hidden. */
export function nothingDue(
  { isScheduled }: ReadRequest,
  states: States,
  methods: readonly OptionalMethod[] = NAMING_LISTS,
): ReadOutcome {
  const offered = methods.filter((method) => !isNotOffered(states.get(method)?.code ?? null));
  if (offered.length === 0) return { ...NONE_OFFERED, isIdle: true };
  const failing = offered.find((method) => (states.get(method)?.code ?? null) !== null);
  if (failing === undefined || isScheduled) return { kind: 'skipped', reason: 'nothing due', isIdle: true };
  const code = states.get(failing)?.code as SafetySyncError['code'];
  throw new SafetySyncError(
    code,
    `${failing} failed when it was last read, and is read again an hour later; now with --force`,
  );
}

export const NONE_OFFERED = { kind: 'skipped', reason: 'the service offers none of these lists' } as const;

/** Ids of the data lists that metafields name. */
function listIdsOf(types: readonly Received[]): string[] {
  const ids = types.flatMap((type) => {
    const record = type.parse();
    const fields = isWireRecord(record) && Array.isArray(record['metafields']) ? record['metafields'] : [];
    return fields.flatMap((one: unknown) => (isWireRecord(one) ? [one['list_id']] : []));
  });
  return [...new Set(ids.filter((id) => id !== null && id !== undefined && id !== '').map(String))];
}

interface Found extends ListRead {
  /** The records of this stream. */
  readonly names: readonly Received[];
}

export async function* readNames(read: ReadRequest): Steps<ReadOutcome> {
  const { service, warehouse } = read;
  const states = await warehouse.readOptionalMethods();
  const state = await warehouse.readNamesState();
  const due = dueLists(read, states, state);
  if (due.length === 0) return nothingDue(read, states);
  const results: MethodResult[] = [];
  const complete: string[] = [];
  let failure: SafetySyncError | null = null;
  const types = states.get('equipmenttypes.list');
  /** null: the types, whose metafields name them, are not known. */
  let dataLists = types === undefined || isNotOffered(types.code) ? null : state.dataLists;

  async function readItems(): Promise<Found> {
    const method = 'datalistitems.list';
    let lists = dataLists;
    if (lists === null) {
      const read = await readOptionalList(service, 'datalists.list');
      results.push(read.result);
      if (read.records === null) return { ...read, result: { ...read.result, method }, names: [] };
      lists = read.records.flatMap((one) =>
        isWireRecord(one.parse()) ? [String((one.parse() as { id?: unknown }).id)] : [],
      );
    }
    const names: Received[] = [];
    for (const id of lists) {
      // Old values name items that can be chosen no more.
      const params = {
        data_list_id: Number.isSafeInteger(Number(id)) ? Number(id) : id,
        include_inactive: true,
        include_deleted: true,
      };
      const read = await readOptionalList(service, method, params);
      if (read.records === null) return { ...read, names };
      names.push(...toNameRecords(method, read.records, id));
    }
    return { result: { method, code: null }, records: [], failure: null, names };
  }

  async function readList(method: OptionalListName): Promise<Found> {
    if (method === 'datalistitems.list') return await readItems();
    const read = await readOptionalList(service, method);
    if (method === 'equipmenttypes.list' && read.records !== null) dataLists = listIdsOf(read.records);
    return { ...read, names: toNameRecords(method, read.records ?? []) };
  }

  for (const method of due) {
    const found = await readList(method);
    const kinds = kindsOf(method);
    const unnamed = state.unnamed.filter((key) => kinds.includes(kindOfKey(key)));
    results.push(found.result.code === null ? { ...found.result, unnamed } : found.result);
    yield records(found.names);
    if (found.result.code === null) complete.push(...kinds);
    failure ??= found.failure;
    const isOfThisList =
      found.failure === null || isRequestSpecific(found.failure) || isRefused(found.failure);
    // A service that does not respond would fail for each further list after all retries again.
    if (!isOfThisList) break;
  }
  yield { ...records([]), writes: [{ kind: 'methods', results }] };
  const codeOf = (method: string) =>
    (results.find((one) => one.method === method) ?? states.get(method))?.code;
  if (NAMING_LISTS.every((method) => isNotOffered(codeOf(method)))) return NONE_OFFERED;
  return { kind: 'read', covered: await coveredKinds(read, complete, state), failure };
}

/** The kinds whose lists have at least half of their stored names; the names of others stay, unless the account was moved. */
async function coveredKinds(
  { warehouse, state }: ReadRequest,
  complete: readonly string[],
  { live }: NamesState,
) {
  const only = (values: readonly string[]) => ({ partitions: null, only: { column: 'kind', values } });
  if (state.isMoved) return only(complete);
  const vanished = [...(await warehouse.findVanished(only(complete)))].map(kindOfKey);
  return only(
    complete.filter((kind) => 2 * vanished.filter((one) => one === kind).length <= (live.get(kind) ?? 0)),
  );
}

/** One name, from the list of its kind; null: the list lacks it, or is not offered. */
export async function findName({ service }: Pick<ReadRequest, 'service'>, { key, stored }: KnownRecord) {
  const method = NAMING_LISTS.find((one) => kindsOf(one).includes(kindOfKey(key)));
  if (method === undefined) return null;
  const dataList = stored?.['parent_id'];
  const params = method === 'datalistitems.list' ? { data_list_id: dataList } : {};
  const { records, failure } = await readOptionalList(service, method, params);
  if (failure !== null) throw failure;
  const record = toNameRecords(method, records ?? [], dataList).find((one) => recordKey(one, '_key') === key);
  return record === undefined ? null : { record, about: {} };
}
