/**
 * People: one list of all, and a request of users.info for each id that occurs in a row and not in the list. A service may
 * offer either, both or none.
 */
import { SafetySyncError } from '../../shared/errors.ts';
import { formatCount } from '../../shared/format.ts';
import { Received } from '../../shared/received.ts';
import {
  isLeftAlone,
  isListDue,
  isNotOffered,
  type MethodState,
  type UserForm,
  wasNeverRead,
} from '../streams/optional-methods.ts';
import { isWireRecord, recordKey } from '../streams/wire.ts';
import { NONE_OFFERED, nothingDue } from './names.ts';
import { isRefused, readOptionalList, recordName } from './list.ts';
import { isEnough, isPlainSync, type ReadRequest } from './read-request.ts';
import { records, type ReadOutcome, type Steps, writes } from './step.ts';

/** Requests of users.info in one sync: scheduled ones leave the budget to the other streams. */
const MOST_ASKED = { schedule: 20, manual: 500 };

/** The parameter with the id: as observed, and as in the specification's example. */
const FORMS: readonly UserForm[] = ['id', 'user'];

/** The example of the specification has a number; an id that is none can only be text. */
const toParameter = (form: UserForm, id: string): string | number =>
  form === 'user' && /^[1-9]\d{0,14}$/.test(id) ? Number(id) : id;

/**
 * `worked`: the form that the service has understood; null: it is unknown. `person`: null where the service does not know the
 * person, or no name of them. Error: it refuses both forms, and none ever worked.
 */
async function askForPerson(
  { stream, service: { api, meter, signal } }: ReadRequest,
  id: string,
  worked: UserForm | null,
): Promise<{ readonly person: Received | null; readonly form: UserForm | null }> {
  for (const form of worked === 'user' ? FORMS.toReversed() : FORMS) {
    try {
      const params = { [form]: toParameter(form, id) };
      const sent = await api().fetchObject({
        ...{ method: 'users.info', objectKey: 'user', params, retries: 0, meter, signal },
      });
      if (!isWireRecord(sent) || stream.personal?.nameOf(sent) === undefined) return { person: null, form };
      const person = Received.of({ ...sent, id: sent['id'] ?? id });
      return { person: recordKey(person, stream.keyField) === id ? person : null, form };
    } catch (error) {
      if (!(error instanceof SafetySyncError)) throw error;
      if (error.code === 'content_not_found') return { person: null, form };
      // Also said of an id that it does not know.
      if (error.code === 'server_error') return { person: null, form: worked };
      if (error.code !== 'parameter_missing' && !isRefused(error)) throw error;
    }
  }
  if (worked !== null) return { person: null, form: worked };
  throw new SafetySyncError('parameter_unexpected', 'users.info takes neither id nor user');
}

/** People without a row, one after the other. Returns how many are left for later runs; null: it is not offered. */
async function* readSinglePeople(read: ReadRequest, info: MethodState | undefined): Steps<number | null> {
  const { warehouse, kind, trigger, onlyRecord } = read;
  const isAll = kind === 'backfill';
  const unknown = onlyRecord ? [onlyRecord.key] : await warehouse.readUnknownPeople({ isAll });
  const most = isAll ? Infinity : MOST_ASKED[trigger];
  let form = info?.form ?? null;
  const remember = (code: string | null) =>
    writes({ kind: 'methods', results: [{ method: 'users.info', code, form }] });
  try {
    for (const id of unknown.slice(0, most)) {
      const { person, ...understood } = await askForPerson(read, id, form);
      ({ form } = understood);
      const asked = { kind: 'people_asked', id, isNamed: person !== null } as const;
      yield { ...records(person === null ? [] : [person]), writes: [asked] };
    }
  } catch (error) {
    // Who was asked for so far stays asked, also where nobody was named.
    yield { kind: 'commit' };
    if (!(error instanceof SafetySyncError) || !isNotOffered(error.code)) throw error;
    yield remember(error.code);
    return null;
  }
  if (unknown.length > 0) yield remember(null);
  return Math.max(0, unknown.length - most);
}

export async function* readPeople(read: ReadRequest): Steps<ReadOutcome> {
  const { stream, warehouse, service, state } = read;
  const methods = await warehouse.readOptionalMethods();
  const { listed, hasNew } = await warehouse.readKnownPeople();
  const notes: string[] = [];
  let code = methods.get('users.list')?.code ?? null;
  if (!isPlainSync(read) || isListDue(methods.get('users.list'), hasNew)) {
    const { result, failure, ...list } = await readOptionalList(service, 'users.list');
    const ids = new Set(list.records.map((one) => recordName(one, stream.keyField)));
    const isRead = result.code === null;
    const [member] = service.meter.unknownMembers;
    // What is stored is of another address. Else an empty list names nobody, also where no list did before.
    const isFirst = state.isMoved && wasNeverRead(methods.get('users.list'));
    const doubt =
      isFirst || isEnough(read, ids.size, Math.max(1, listed))
        ? member && `it has a member that is not known: ${member}`
        : `it has ${ids.size} people, of ${listed} before; if that is right: safety-sync sync users --force --allow-mass-delete`;
    const isWhole = isRead && doubt === undefined;
    if (isRead && listed > 0 && doubt !== undefined)
      notes.push(`users.list: nobody is marked deleted, because ${doubt}`);
    yield records(list.records);
    yield writes({ kind: 'methods', results: [result] });
    if (isWhole) yield writes({ kind: 'people_listed', ids: [...ids] });
    const covered = { partitions: null, ...(!isFirst && { isOfLists: true as const }) };
    yield { kind: 'commit', covered: isWhole ? covered : null };
    if (failure !== null) return { kind: 'read', covered: null, failure };
    code = result.code;
  }
  const info = methods.get('users.info');
  // People that a list will name within an hour are not requested one by one.
  const mayAsk = (code === null || isNotOffered(code)) && !isLeftAlone(info);
  const left = mayAsk ? yield* readSinglePeople(read, info) : null;
  if (service.meter.requests === 0) return nothingDue(read, methods);
  if (left === null && isNotOffered(code)) return NONE_OFFERED;
  if (left !== null && left > 0)
    notes.push(`${formatCount(left)} people without a name are left for later runs`);
  return { kind: 'read', covered: null, note: notes.join('; ') || null, failure: null };
}
