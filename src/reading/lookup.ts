/** Names of users, one request each: whoever is due, whoever was not asked for the longest time first. */
import { SafetySyncError } from '../shared/errors.ts';
import { DAY_MS, HOUR_MS } from '../shared/time.ts';
import type { DueLookup, LookupResult } from '../streams/state.ts';
import { type UserLookup, askForUser } from './ask-user.ts';
import { isRequestSpecific } from './pages.ts';
import type { ReadRequest } from './read-request.ts';
import { records, type ReadOutcome, type Steps } from './step.ts';

/** Requests in flight: names are in no hurry, the other streams go first. */
const POLITE_CONCURRENCY = 2;
/** Lookups between two commits. */
const BATCH = 200;
const REFRESH_MS = 7 * DAY_MS;
/** An id that the service does not know is not asked again for a month. */
const UNKNOWN_MS = 30 * DAY_MS;
const UNUSABLE_MS = DAY_MS;
/** So many different ids that fail one after the other may be the service's failure instead of theirs. */
const IN_A_ROW = 4;
/** Others that are asked to find out whether it is. */
const MOST_PROBES = 3;
/** Ids that a note names. */
const NAMED = 5;

const AGAIN_MS = { found: REFRESH_MS, unknown: UNKNOWN_MS, unusable: UNUSABLE_MS } as const;

/** How long an id that failed so many times is left alone: the next run, then an hour, 4, 16, 64, then a week. */
export function leaveAloneMs(failures: number): number {
  return failures <= 1 ? 0 : Math.min(REFRESH_MS, HOUR_MS * 4 ** (failures - 2));
}

/** Spread over a tenth of the time, so that a thousand users that were met at once are not asked for at once for ever. */
function dueAgain(everyMs: number, userId: string): number {
  let sum = 0;
  for (const character of userId) sum = (sum * 31 + (character.codePointAt(0) ?? 0)) % 1000;
  return Math.round(everyMs * (0.95 + sum / 10_000));
}

/** The method or the right to it is missing: no failure, there is just nothing to be had here. */
function missingReason(error: unknown): string | null {
  if (!(error instanceof SafetySyncError)) return null;
  if (error.code === 'api_method_not_found')
    return 'the service does not offer users.info; names stay unknown';
  if (error.code === 'token_permission') return 'the token may not read users.info; names stay unknown';
  return null;
}

function toFailure(error: unknown): Error {
  return error instanceof Error ? error : new Error('a lookup failed', { cause: error });
}

interface FailedLookup {
  readonly lookup: DueLookup;
  readonly error: SafetySyncError;
}

/** What became of a batch so far. */
interface Batch {
  readonly queue: DueLookup[];
  readonly succeeded: UserLookup[];
  readonly failed: FailedLookup[];
  /** Failures since one succeeded, in this batch. */
  inARow: number;
  /** What ended it, if not its end: no other id can be asked for. */
  failure: unknown;
}

/** Asks for one. What fails for the id alone is noted, everything else ends the batch. */
async function lookUp(read: ReadRequest, batch: Batch, lookup: DueLookup): Promise<void> {
  try {
    batch.succeeded.push(await askForUser(read, lookup.userId));
    batch.inARow = 0;
  } catch (error) {
    if (isRequestSpecific(error)) {
      batch.failed.push({ lookup, error });
      batch.inARow += 1;
    } else {
      batch.failure ??= error;
    }
  }
}

/** Asks until the queue is empty, or so many failed one after the other that the service may be out of order. */
async function askOn(read: ReadRequest, batch: Batch): Promise<void> {
  const work = async (): Promise<void> => {
    while (batch.failure === undefined && batch.inARow < IN_A_ROW) {
      const lookup = batch.queue.shift();
      if (lookup === undefined) return;
      await lookUp(read, batch, lookup);
    }
  };
  await Promise.all(Array.from({ length: POLITE_CONCURRENCY }, work));
}

/** Whether any lookup succeeds: of ids for which one did before, then others who are due. */
async function doesAnyLookupSucceed(read: ReadRequest, batch: Batch): Promise<boolean> {
  const failed = new Set(batch.failed.map(({ lookup }) => lookup.userId));
  const latest = batch.succeeded.at(-1)?.userId;
  const known = latest === undefined ? await read.warehouse.readSucceededLookups(MOST_PROBES - 1) : [latest];
  const probes: DueLookup[] = known
    .filter((userId) => !failed.has(userId))
    .map((userId) => ({ userId, failures: 0 }));
  while (probes.length < MOST_PROBES && batch.queue.length > 0) {
    // From the end and the middle: ids that fail for one reason often lie together.
    probes.push(...batch.queue.splice(probes.length % 2 === 0 ? -1 : batch.queue.length >> 1, 1));
  }
  for (const probe of probes) {
    const before = batch.succeeded.length;
    await lookUp(read, batch, probe);
    if (batch.succeeded.length > before) return true;
    if (batch.failure !== undefined) return false;
  }
  return false;
}

/** Asks for a batch. The failure of one id is that id's own, unless no lookup succeeds any more. */
async function askBatch(read: ReadRequest, lookups: readonly DueLookup[]): Promise<Batch> {
  const batch: Batch = {
    queue: [...lookups],
    succeeded: [],
    failed: [],
    inARow: 0,
    failure: undefined,
  };
  for (;;) {
    await askOn(read, batch);
    const isDoubtful = batch.inARow >= IN_A_ROW || (batch.succeeded.length === 0 && batch.failed.length > 0);
    if (batch.failure !== undefined) return batch;
    if (isDoubtful && !(await doesAnyLookupSucceed(read, batch))) {
      batch.failure ??= batch.failed.at(-1)?.error;
      return batch;
    }
    batch.inARow = 0;
    if (batch.queue.length === 0) return batch;
  }
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
    ...failed.map(({ lookup: { userId, failures }, error }) =>
      // Where no lookup succeeds the ids are not to blame: they stay due, behind all others.
      failure === undefined
        ? {
            userId,
            isKnown: null,
            againInMs: dueAgain(leaveAloneMs(failures + 1), userId),
            failures: failures + 1,
            error: error.code,
          }
        : { userId, isKnown: null, againInMs: null, failures, error: error.code },
    ),
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
  return `${what} asked for again later: ${names}${more}`;
}

export async function* readLookups(read: ReadRequest): Steps<ReadOutcome> {
  const { warehouse } = read;
  const begunAt = await warehouse.readTime();
  for (;;) {
    const lookups = await warehouse.readDueLookups({
      all: read.kind !== 'sync',
      notAskedSince: begunAt,
      limit: BATCH,
    });
    if (lookups.length === 0) break;
    const batch = await askBatch(read, lookups);
    const { succeeded, failure } = batch;
    const usable = succeeded.flatMap(({ kind, userId }) => (kind === 'unusable' ? [] : [userId]));
    yield {
      ...records(succeeded.flatMap((one) => (one.kind === 'unknown' ? [] : [one.record]))),
      notes: [{ kind: 'lookups', begunAt, results: toResults(batch), usable }],
    };
    yield { kind: 'commit' };
    const reason = missingReason(failure);
    if (reason !== null) return { kind: 'skipped', reason };
    if (failure !== undefined) throw toFailure(failure);
  }
  return { kind: 'read', covered: null, note: await describeFailing(read), failure: null };
}
