/** Asks for one record, in the fewest requests that the service offers: only users can be asked for by their id alone. */
import { SafetySyncError } from '../shared/errors.ts';
import { ExactNumber } from '../shared/exact-number.ts';
import type { Received } from '../shared/received.ts';
import type { ReadContext, WireRecord } from '../streams/stream.ts';
import { keyOf } from '../streams/wire.ts';
import { askForUser } from './ask-user.ts';
import { isOlder, readLastUpdated, requestParams } from './cached-report.ts';
import { readMs, toCreationFilters, WHOLE_TIME } from './creation-slice.ts';
import { walkCreation } from './creation-walk.ts';
import { createPageTally, fetchPage, isRefusedPage, MOST_PAGES } from './pages.ts';
import type { KnownRecord, ReadRequest } from './read-request.ts';
import { createSliceReader } from './slice-reader.ts';
import { readPart, type Part, toWhole, toTypePart } from './snapshot.ts';
import { records, type ReadOutcome, type Steps } from './step.ts';

type OneRequest = Pick<ReadRequest, 'stream' | 'service' | 'settings'>;

export interface FoundRecord {
  readonly record: Received;
  readonly about: ReadContext;
  /** The service's own time of the response, ms. */
  readonly serviceTimeMs?: number | undefined;
}

/** null: the service does not have it. */
export async function askForRecord(read: OneRequest, known: KnownRecord): Promise<FoundRecord | null> {
  switch (read.stream.readMode.kind) {
    case 'lookup': {
      const lookup = await askForUser(read, known.key);
      return lookup.kind === 'unknown' ? null : { record: lookup.record, about: {} };
    }
    case 'cached_report':
      return await findOnPages(read, known, { ...requestParams(1), m_user_ids: [known.key] });
    case 'incremental':
      return await findFollowup(read, known);
    case 'snapshot':
      return read.stream.readMode.per === 'account'
        ? await findInPart(read, known, toWhole(read.stream))
        : await findEquipment(read, known);
  }
}

/** A service that does not heed a filter announces pages of everybody. */
async function findOnPages(
  read: OneRequest,
  { key }: KnownRecord,
  params: Readonly<Record<string, unknown>>,
): Promise<FoundRecord | null> {
  const { keyField } = read.stream;
  const tally = createPageTally();
  for (let number = 1; number <= MOST_PAGES; number += 1) {
    const page = await fetchPage(read, number === 1 ? params : { ...params, page: number });
    const record = page.records.findLast((one) => keyOf(one, keyField) === key);
    const calculatedAtMs = readLastUpdated(page);
    const about = calculatedAtMs === undefined ? {} : { calculatedAtMs };
    if (record !== undefined) return { record, about, serviceTimeMs: page.serviceTimeMs };
    tally.add(page, keyField);
    if (!tally.hasFurther(number)) break;
  }
  const shortfall = tally.shortfall();
  if (shortfall === null) return null;
  throw new SafetySyncError('read_incomplete', `${read.stream.method}: ${shortfall}`);
}

function toNumberParameter(value: unknown): number | ExactNumber | undefined {
  if (typeof value === 'number' || value instanceof ExactNumber) return value;
  if (typeof value !== 'string' || !/^\d+$/.test(value)) return undefined;
  return Number.isSafeInteger(Number(value)) ? Number(value) : new ExactNumber(value);
}

/** What never changes of a follow-up and can be asked for: where and when it was created. The narrowest question first. */
function questionsOf(stored: WireRecord): Readonly<Record<string, unknown>>[] {
  const responseId = toNumberParameter(stored['response_id']);
  const createdMs = readMs(stored['created_on']);
  const byResponse = responseId === undefined ? {} : { response_id: responseId };
  const fromMs = createdMs === undefined ? null : Math.floor(createdMs);
  const byTime = fromMs === null ? {} : toCreationFilters({ fromMs, toMs: fromMs + 1 });
  const both = { ...byResponse, ...byTime };
  if (responseId === undefined || fromMs === null) return Object.keys(both).length === 0 ? [] : [both];
  // Where what is stored is wrong, one of the two may still be right.
  return [both, byResponse, byTime];
}

async function findFollowup(read: OneRequest, known: KnownRecord): Promise<FoundRecord | null> {
  const { stream } = read;
  if (stream.readMode.kind !== 'incremental')
    throw new TypeError(`${stream.name} is no list by creation time`);
  const { pageSize } = stream.readMode;
  const questions = known.stored === null ? [] : questionsOf(known.stored);
  for (const question of questions) {
    try {
      const found = await findOnPages(read, known, { limit: pageSize, ...question });
      if (found !== null) return found;
    } catch (error) {
      if (!isRefusedPage(error)) throw error;
    }
  }
  if (questions.length > 0) return null;
  // Nothing is known of it, and the service has no question for a follow-up by its id: the list, until it comes.
  const walk = walkCreation(WHOLE_TIME, createSliceReader(read, { pageSize, filters: {} }));
  for (;;) {
    const next = await walk.next();
    if (next.done === true) {
      if (next.value !== null) throw next.value;
      return null;
    }
    if (next.value.kind === 'hole') throw next.value.error;
    if (next.value.kind !== 'records') continue;
    const record = next.value.records.findLast((one) => keyOf(one, stream.keyField) === known.key);
    if (record !== undefined) return { record, about: {} };
  }
}

/** A record that comes twice is the one that came last, as the merge has it: the response is read to its end. */
async function findInPart(read: OneRequest, { key }: KnownRecord, part: Part): Promise<FoundRecord | null> {
  let found: FoundRecord | null = null;
  const steps = readPart({ read, part, missingKeys: new Set([key]) });
  for (;;) {
    const next = await steps.next();
    if (next.done === true) {
      if (next.value !== null && found === null) {
        throw new SafetySyncError('read_incomplete', `${part.label}: ${next.value}`);
      }
      return found;
    }
    const step = next.value;
    if (step.kind === 'rollback') found = null;
    if (step.kind !== 'records') continue;
    const record = step.records.at(-1);
    if (record !== undefined) found = { record, about: step.about };
  }
}

/** Of the type that it was last found in, else of the others that are configured. */
async function findEquipment(read: OneRequest, known: KnownRecord): Promise<FoundRecord | null> {
  const { equipmentTypes } = read.settings;
  const types = [...new Set([...(known.askedType === null ? [] : [known.askedType]), ...equipmentTypes])];
  if (types.length === 0) {
    const message = 'SAFETY_EQUIPMENT_TYPES is empty: no equipment type to ask for';
    throw new SafetySyncError('configuration_invalid', message);
  }
  let failure: SafetySyncError | undefined;
  for (const type of types) {
    try {
      const found = await findInPart(read, known, toTypePart(type));
      if (found !== null) return found;
    } catch (error) {
      // A type that the service does not know any more has no equipment; that of another one can still be found.
      if (!isRefusedPage(error)) throw error;
      failure ??= error;
    }
  }
  if (failure !== undefined) throw failure;
  return null;
}

/**
 * The steps of a run that stores one record as the service has it now. The run's note does not name the record, because its
 * key may identify a person and notes are kept.
 */
export async function* readOneRecord(read: ReadRequest, known: KnownRecord): Steps<ReadOutcome> {
  const found = await askForRecord(read, known);
  if (found === null) {
    return { kind: 'skipped', reason: 'the service does not have that record: there is nothing to store' };
  }
  const { calculatedAtMs } = found.about;
  const clock = { serviceMs: found.serviceTimeMs, ourMs: read.service.clock.now() };
  if (calculatedAtMs !== undefined && isOlder(calculatedAtMs, read.state.calculatedAt, clock)) {
    const reason = `the service responds from the training report of ${new Date(calculatedAtMs).toISOString()}, which is older than the stored one: try again when its cache has expired`;
    return { kind: 'skipped', reason };
  }
  yield records([found.record], found.about);
  return { kind: 'read', covered: null, state: {}, note: 'stored one record again', failure: null };
}
