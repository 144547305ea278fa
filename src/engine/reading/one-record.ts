/** Requests one record, in the fewest requests that the service offers: it has a method by id for users only. */
import type { Received } from '../../shared/received.ts';
import { SafetySyncError } from '../../shared/errors.ts';
import type { ReadContext } from '../streams/stream.ts';
import { recordKey } from '../streams/wire.ts';
import { readLastUpdated, TRAINING_PARAMS } from './cached-list.ts';
import { DISPLAY_ID } from './followup-list.ts';
import { askedOf, incomplete, isRefused, type Params, readList } from './list.ts';
import { findName } from './names.ts';
import { readOptionalList } from './optional-list.ts';
import { askForPerson } from './people.ts';
import type { KnownRecord, ReadRequest } from './read-request.ts';
import { recordName } from './record-fields.ts';
import { NO_TYPES, type PartitionRequest, toPartitionRequests } from './snapshot.ts';
import { records, type ReadOutcome, type Steps } from './step.ts';

type OneRequest = Pick<ReadRequest, 'stream' | 'service' | 'settings'>;

export interface FoundRecord {
  readonly record: Received;
  readonly about: ReadContext;
}

/** First the type of its last response, then the others: the configured ones, else those that the service lists. */
async function typesFor(
  { requestedType }: KnownRecord,
  { settings: { equipmentTypes }, service }: OneRequest,
): Promise<readonly string[]> {
  const listed =
    equipmentTypes.length > 0 ? null : (await readOptionalList(service, 'equipmenttypes.list')).records;
  const others = listed?.map((one) => recordName(one, 'id')) ?? equipmentTypes;
  const types = new Set([...(requestedType === null ? [] : [requestedType]), ...others]);
  if (types.size > 0) return [...types];
  throw new SafetySyncError('configuration_invalid', NO_TYPES);
}

/**
 * The service has no filter by the id of a follow-up or a completion: what hardly changes in them selects a few. Without it the
 * list is read until the record appears. The training of a completion may be corrected, and the user id of a forgotten person is
 * not the service's.
 */
async function questionsFor(read: OneRequest, known: KnownRecord): Promise<readonly PartitionRequest[]> {
  const { readMode } = read.stream;
  const stored = known.stored ?? {};
  const filterBy = (name: string): Params | null =>
    /^\d{1,15}$/.test(String(stored[name])) ? { [name]: Number(stored[name]) } : null;
  switch (readMode.kind) {
    case 'cached_list':
      return [{ params: { ...TRAINING_PARAMS, m_user_ids: [known.key] }, about: {} }];
    case 'incremental':
      return [{ params: filterBy('response_id') ?? {}, about: {} }];
    case 'newest_first': {
      const training = filterBy('training_id');
      const ofUser = { user_id: stored['m_user_id'] };
      const filters = training === null ? [{}] : [{ ...training, ...ofUser }, training, ofUser];
      return filters.map((params) => ({ params, about: {} }));
    }
    case 'snapshot':
      return toPartitionRequests(readMode.per === 'account' ? null : await typesFor(known, read));
    default:
      return [];
  }
}

async function findPerson(read: OneRequest, { key }: KnownRecord): Promise<FoundRecord | null> {
  const { records: people, failure } = await readOptionalList(read.service, 'users.list');
  if (failure !== null) throw failure;
  const listed = people?.findLast((one) => recordKey(one, read.stream.keyField) === key);
  const record = listed ?? (await askForPerson(read, key, null))?.person ?? null;
  return record && { record, about: {} };
}

/** null: the service does not have it. If a request was refused, the others cannot prove that the record is absent. */
export async function askForRecord(read: OneRequest, known: KnownRecord): Promise<FoundRecord | null> {
  const { stream, service } = read;
  const { keyField, readMode } = stream;
  if (readMode.kind === 'names') return await findName(read, known);
  if (readMode.kind === 'people') return await findPerson(read, known);
  const optional = readMode.kind === 'incremental' ? { optional: { params: DISPLAY_ID } } : {};

  async function find({ params, about }: PartitionRequest): Promise<FoundRecord | null> {
    const asked = { ...askedOf(stream, params), ...optional };
    const pages = readList(service, asked);
    let next = await pages.next();
    for (; next.done !== true; next = await pages.next()) {
      // The last one, as in the merge, where several have the key.
      const record = next.value.records.findLast((one) => recordKey(one, keyField) === known.key);
      const calculatedAtMs = readLastUpdated(next.value);
      if (record !== undefined)
        return { record, about: calculatedAtMs === undefined ? about : { ...about, calculatedAtMs } };
    }
    if (next.value.isComplete) return null;
    throw incomplete(asked, next.value);
  }

  let refused: SafetySyncError | undefined;
  for (const question of await questionsFor(read, known)) {
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
  if (calculatedAtMs !== undefined && calculatedAtMs < (read.state.calculatedAt ?? 0)) {
    const reason = `the service responds from the training list of ${new Date(calculatedAtMs).toISOString()}, which is older than the stored one: try again when its cache has expired`;
    return { kind: 'skipped', reason };
  }
  yield records([found.record], found.about);
  return { kind: 'read', covered: null, note: 'stored one record again', failure: null };
}
