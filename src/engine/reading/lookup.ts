/**
 * Names of users, one request each: the ids that are due, in the order of their last request (specification: users.info,
 * known only as the protocol's example).
 */
import { backoff } from '../../shared/backoff.ts';
import { type ErrorCode, SafetySyncError } from '../../shared/errors.ts';
import { ExactNumber } from '../../shared/exact-number.ts';
import { Received } from '../../shared/received.ts';
import { DAY_MS, HOUR_MS } from '../../shared/time.ts';
import type { DueLookup, LookupResult } from '../streams/state.ts';
import { isWireRecord, recordKey } from '../streams/wire.ts';
import { isRequestSpecific } from '../api/response-errors.ts';
import type { PageSource } from './pages.ts';
import type { ReadRequest } from './read-request.ts';
import { records, type ReadOutcome, type Steps } from './step.ts';

/** Requests in flight: few, because names can wait for the other streams. */
const CONCURRENCY = 2;
/** Lookups between two commits. */
const LOOKUP_BATCH = 200;
const REFRESH_MS = 7 * DAY_MS;
/** When an id that the service does not know is looked up again. */
const UNKNOWN_MS = 30 * DAY_MS;
const UNUSABLE_MS = DAY_MS;
/** If this number of different ids fail one after the other, the service itself may be failing. */
const IN_A_ROW = 4;
/** Lookups of other ids, which show whether it does. */
const MOST_CONTROL_LOOKUPS = 3;
/** Maximum number of ids in a note. */
const NAMED = 5;

const AGAIN_MS = { found: REFRESH_MS, unknown: UNKNOWN_MS, unusable: UNUSABLE_MS } as const;

/** Delay from the second failure of an id on: an hour, 4, 16, 64, then a week. */
const LEAVE_ALONE = { firstMs: HOUR_MS, mostMs: REFRESH_MS, factor: 4 };

/** The first failure is followed by another attempt in the next run. */
function leaveAloneMs(failures: number): number {
  return failures <= 1 ? 0 : backoff(failures - 1, LEAVE_ALONE);
}

/** Spread over a tenth of the time, so that a thousand users that were due at one time are not due together again. */
function dueAgain(everyMs: number, userId: string): number {
  let sum = 0;
  for (const character of userId) sum = (sum * 31 + (character.codePointAt(0) ?? 0)) % 1000;
  return Math.round(everyMs * (0.95 + sum / 10_000));
}

/** The method or the right to it is missing, which is not a failure. */
const MISSING: Partial<Record<ErrorCode, string>> = {
  api_method_not_found: 'the service does not offer users.info; names stay unknown',
  token_permission: 'the token may not read users.info; names stay unknown',
};

/** `unusable`: the service responded with something that is not this user. */
type UserLookup =
  | { readonly kind: 'found' | 'unusable'; readonly userId: string; readonly record: Received }
  | { readonly kind: 'unknown'; readonly userId: string };

/** An id for which the service fails in each run gets few requests, because a later run tries again. */
const MOST_RETRIES_IN_A_ROW = 4;

/**
 * The forms of an id as a parameter, one after the other while the service refuses the form. The example shows a number; an
 * id that is not one can only be text. Beyond 2^53 text comes first: a service may round a number.
 */
export function toUserParameters(userId: string): readonly (number | string | ExactNumber)[] {
  if (!/^(0|-?[1-9]\d*)$/.test(userId)) return [userId];
  const number = Number(userId);
  return Number.isSafeInteger(number) ? [number, userId] : [userId, new ExactNumber(userId)];
}

export async function askForUser({ stream, service }: PageSource, userId: string): Promise<UserLookup> {
  const { method, responseKey: objectKey, keyField } = stream;
  const { api, meter, signal } = service;
  for (const user of toUserParameters(userId)) {
    try {
      const request = {
        method,
        objectKey,
        params: { user },
        mostRetriesInARow: MOST_RETRIES_IN_A_ROW,
        meter,
        signal,
      };
      const object = await api.fetchObject(request);
      const record = Received.of(
        isWireRecord(object) ? { ...object, [keyField]: object[keyField] ?? userId } : null,
      );
      if (recordKey(record, keyField) === userId) return { kind: 'found', userId, record };
      // Becomes a data issue, because a user could not be stored without this key.
      const unusable = Received.of({ asked_for: userId, answered: object ?? null });
      return { kind: 'unusable', userId, record: unusable };
    } catch (error) {
      const code = error instanceof SafetySyncError ? error.code : undefined;
      if (code === 'content_not_found') break;
      if (code !== 'parameter_invalid') throw error;
    }
  }
  return { kind: 'unknown', userId };
}

type Batch = Awaited<ReturnType<typeof lookUpAll>>;

/** The failure of one id concerns that id alone, unless no lookup succeeds any more. */
async function lookUpAll(read: ReadRequest, lookups: readonly DueLookup[]) {
  const queue = [...lookups];
  const succeeded: UserLookup[] = [];
  const failed: { lookup: DueLookup; error: SafetySyncError }[] = [];
  /** Why no other id can be looked up; undefined: all were tried. */
  let failure: Error | undefined;
  /** Failures since the last success. */
  let inARow = 0;

  async function lookUp(lookup: DueLookup): Promise<void> {
    try {
      succeeded.push(await askForUser(read, lookup.userId));
      inARow = 0;
    } catch (error) {
      if (isRequestSpecific(error)) {
        failed.push({ lookup, error });
        inARow += 1;
      } else {
        failure ??= error instanceof Error ? error : new Error('a lookup failed', { cause: error });
      }
    }
  }

  const isEnded = (): boolean => failure !== undefined;

  async function work(): Promise<void> {
    while (!isEnded() && inARow < IN_A_ROW) {
      const lookup = queue.shift();
      if (lookup === undefined) return;
      await lookUp(lookup);
    }
  }

  /** Ids that were looked up before, then due ones. */
  async function takeControlIds(): Promise<DueLookup[]> {
    const latest = succeeded.at(-1)?.userId;
    const known =
      latest === undefined ? await read.warehouse.readSucceededLookups(MOST_CONTROL_LOOKUPS - 1) : [latest];
    const controlIds = known
      .filter((userId) => !failed.some(({ lookup }) => lookup.userId === userId))
      .map((userId) => ({ userId, failures: 0 }));
    while (controlIds.length < MOST_CONTROL_LOOKUPS && queue.length > 0) {
      // From the end and the middle: ids that fail for one reason are often adjacent.
      controlIds.push(...queue.splice(controlIds.length % 2 === 0 ? -1 : queue.length >> 1, 1));
    }
    return controlIds;
  }

  do {
    inARow = 0;
    await Promise.all(Array.from({ length: CONCURRENCY }, work));
    const isDoubtful = inARow >= IN_A_ROW || (succeeded.length === 0 && failed.length > 0);
    if (!isEnded() && isDoubtful) {
      const before = succeeded.length;
      for (const controlId of await takeControlIds()) {
        if (!isEnded() && succeeded.length === before) await lookUp(controlId);
      }
      if (succeeded.length === before) failure ??= failed.at(-1)?.error;
    }
  } while (!isEnded() && queue.length > 0);
  return { succeeded, failed, failure };
}

function toResults({ succeeded, failed, failure }: Batch): LookupResult[] {
  return [
    ...succeeded.map(({ kind, userId }) => ({
      userId,
      isKnown: kind === 'found',
      againInMs: dueAgain(AGAIN_MS[kind], userId),
      failures: 0,
      error: null,
    })),
    ...failed.map(({ lookup: { userId, failures: before }, error }) => {
      // If no lookup succeeds the cause is not the id: it stays due, after all others.
      const failures = failure === undefined ? before + 1 : before;
      const againInMs = failure === undefined ? dueAgain(leaveAloneMs(failures), userId) : null;
      return { userId, isKnown: null, againInMs, failures, error: error.code };
    }),
  ];
}

/** Which ids cannot be looked up; null: none. */
async function describeFailing({ warehouse }: ReadRequest): Promise<string | null> {
  const { total, some } = await warehouse.readFailingLookups(NAMED);
  if (total === 0) return null;
  const names = some.map(({ userId, error }) => `${userId} (${error ?? 'unknown'})`).join(', ');
  const more = total > some.length ? ` and ${total - some.length} more` : '';
  const what =
    total === 1 ? '1 user id cannot be looked up and is' : `${total} user ids cannot be looked up and are`;
  return `${what} requested again later: ${names}${more}`;
}

export async function* readLookups(read: ReadRequest): Steps<ReadOutcome> {
  const { warehouse } = read;
  const begunAt = await warehouse.readTime();
  for (;;) {
    const lookups = await warehouse.readDueLookups({
      all: read.kind !== 'sync',
      notAskedSince: begunAt,
      limit: LOOKUP_BATCH,
    });
    if (lookups.length === 0) break;
    const batch = await lookUpAll(read, lookups);
    const { succeeded, failure } = batch;
    const usable = succeeded.flatMap(({ kind, userId }) => (kind === 'unusable' ? [] : [userId]));
    yield {
      ...records(succeeded.flatMap((one) => (one.kind === 'unknown' ? [] : [one.record]))),
      writes: [{ kind: 'lookups', begunAt, results: toResults(batch), usable }],
    };
    yield { kind: 'commit' };
    const reason = failure instanceof SafetySyncError ? MISSING[failure.code] : undefined;
    if (reason !== undefined) return { kind: 'skipped', reason };
    if (failure !== undefined) throw failure;
  }
  return { kind: 'read', covered: null, note: await describeFailing(read), failure: null };
}
