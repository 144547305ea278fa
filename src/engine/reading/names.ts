/** Reads the lists that name ids: those that are due, as far as the service has them. */
import { SafetySyncError } from '../../shared/errors.ts';
import type { Received } from '../../shared/received.ts';
import { toNameRecords } from '../streams/names.ts';
import {
  isListDue,
  isNotOffered,
  kindsOf,
  type MethodResult,
  NAMING_LISTS,
  type OptionalListName,
  wasNeverRead,
} from '../streams/optional-methods.ts';
import type { NamesState } from '../streams/state.ts';
import { isOfOneRequest, readOptionalList, recordName } from './list.ts';
import { isEnough, isPlainSync, type ReadRequest } from './read-request.ts';
import { records, type ReadOutcome, type Steps, writes } from './step.ts';

const kindOfKey = (key: string): string => key.slice(0, key.indexOf(':'));

const unnamedOf = (method: OptionalListName, { unnamed }: NamesState): string[] =>
  unnamed.filter((key) => kindsOf(method).includes(kindOfKey(key)));

type Codes = ReadonlyMap<string, Pick<MethodResult, 'code'>>;

const isNoneOffered = (states: Codes, methods: readonly string[]): boolean =>
  methods.every((method) => isNotOffered(states.get(method)?.code));

/** Error code of a method that has failed since its last good read, and waits for its next attempt. */
function waitingFailure(states: Codes, methods: readonly string[]): SafetySyncError | null {
  for (const method of methods) {
    const { code } = states.get(method) ?? { code: null };
    if (code === null || isNotOffered(code)) continue;
    const message = `${method} failed when it was last read, and is read again an hour later; now with --force`;
    return new SafetySyncError(code as SafetySyncError['code'], message);
  }
  return null;
}

/** By hand, a failure that waits for its next attempt is not hidden. */
export function nothingDue({ trigger, stream }: ReadRequest, states: Codes): ReadOutcome {
  const { optionalMethods: methods = [] } = stream;
  if (isNoneOffered(states, methods)) return NONE_OFFERED;
  const failure = trigger === 'schedule' ? null : waitingFailure(states, methods);
  return { kind: 'skipped', reason: 'nothing due', failure };
}

export const NONE_OFFERED = { kind: 'skipped', reason: 'the service offers none of these lists' } as const;

export async function* readNames(read: ReadRequest): Steps<ReadOutcome> {
  const { service, warehouse, onlyRecord } = read;
  const states = await warehouse.readOptionalMethods();
  const state = await warehouse.readNamesState();
  // Lists that are due, and lists that may name an id first met since they were read.
  const due = NAMING_LISTS.filter((method) => {
    if (onlyRecord !== undefined) return kindsOf(method).includes(kindOfKey(onlyRecord.key));
    const known = new Set(states.get(method)?.unnamed);
    const mayName = unnamedOf(method, state).some((key) => !known.has(key));
    return !isPlainSync(read) || isListDue(states.get(method), mayName);
  });
  if (due.length === 0) return nothingDue(read, states);
  const results: MethodResult[] = [];
  const complete: string[] = [];
  /** Kinds of a list that was never read from this address: what is stored of them may be of another one. */
  const believed: string[] = [];
  let failure: SafetySyncError | null = null;

  /** The data lists that metafields name, after a commit; null: the types, which have the metafields, are not known. */
  async function findDataLists(): Promise<readonly string[] | null> {
    if (onlyRecord?.stored != null) return [String(onlyRecord.stored['parent_id'])];
    const wereRead = results.find(({ method, code }) => method === 'equipmenttypes.list' && code === null);
    const types = wereRead ?? states.get('equipmenttypes.list');
    if (types === undefined || isNotOffered(types.code)) return null;
    return (await warehouse.readNamesState()).dataLists;
  }

  async function readList(method: OptionalListName) {
    if (method !== 'datalistitems.list') {
      const list = await readOptionalList(service, method);
      return { ...list, names: toNameRecords(method, list.records) };
    }
    // The items of all data lists, each with its list; the first read that fails is the end.
    const dataLists = await findDataLists();
    const lists = dataLists === null ? await readOptionalList(service, 'datalists.list') : null;
    if (lists !== null) results.push(lists.result);
    const names: Received[] = [];
    let { result, failure: reason } = lists ?? { result: { method, code: null }, failure: null };
    for (const id of dataLists ?? (lists?.records ?? []).map((one) => recordName(one, 'id'))) {
      const data_list_id = Number.isSafeInteger(Number(id)) ? Number(id) : id;
      // Old values name items that can be chosen no more.
      const params = { data_list_id, include_inactive: true, include_deleted: true };
      const items = await readOptionalList(service, method, params);
      // Gone with its metafields, which are stored up to the end of this run.
      if (items.result.code === 'content_not_found') continue;
      ({ result, failure: reason } = items);
      if (result.code !== null) break;
      names.push(...toNameRecords(method, items.records, id));
    }
    return { result: { ...result, method }, failure: reason, names };
  }

  for (const method of due) {
    if (method === 'datalistitems.list') yield { kind: 'commit' };
    const { result, names, failure: reason } = await readList(method);
    results.push(result.code === null ? { ...result, unnamed: unnamedOf(method, state) } : result);
    yield records(names);
    const kinds = wasNeverRead(states.get(method)) ? believed : complete;
    if (result.code === null) kinds.push(...kindsOf(method));
    failure ??= reason;
    // A service that does not respond would fail for each further list after all retries again.
    if (reason !== null && !isOfOneRequest(reason)) break;
  }
  yield writes({ kind: 'methods', results });
  const known = new Map<string, Pick<MethodResult, 'code'>>(states);
  for (const one of results) known.set(one.method, one);
  if (isNoneOffered(known, NAMING_LISTS)) return NONE_OFFERED;
  // Without a list that has failed and is not due yet, the run has not read every list.
  if (onlyRecord === undefined) failure ??= waitingFailure(known, NAMING_LISTS);
  // Kinds with a list of at least half of their stored names; the names of others stay.
  const only = (values: readonly string[]) => ({ partitions: null, only: { column: 'kind', values } });
  const vanished = [...(await warehouse.findVanished(only(complete)))].map(kindOfKey);
  const halved = complete.filter((kind) => {
    const live = state.live[kind] ?? 0;
    return !isEnough(read, live - vanished.filter((one) => one === kind).length, live);
  });
  const covered = only([...believed, ...complete.filter((kind) => !halved.includes(kind))]);
  const found = `${halved.join(', ')}: less than half of the names came, so none was removed; if that is right: safety-sync sync names --force --allow-mass-delete`;
  return { kind: 'read', covered, note: halved.length === 0 ? null : found, failure };
}
