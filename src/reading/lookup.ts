/** Names of users, one request each: whoever is due, whoever was not asked for the longest time first. */
import { SafetySyncError } from '../shared/errors.ts';
import { DAY_MS, HOUR_MS } from '../shared/time.ts';
import { resolveAnswered } from '../loading/issue-sql.ts';
import {
  type DueLookup,
  type LookupResult,
  readAnsweredLookups,
  readDatabaseTime,
  readDueLookups,
  readFailingLookups,
  writeLookupResults,
} from '../database/user-lookups.ts';
import { type Answer, askForUser, isOfOneId } from './ask-user.ts';
import type { Extract, ExtractContext } from './extract.ts';

/** Requests in flight: names are in no hurry, the other streams go first. */
const POLITE_CONCURRENCY = 2;
/** Look-ups between two checkpoints. */
const PORTION = 200;
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
  return error instanceof Error ? error : new Error('a look-up failed', { cause: error });
}

interface FailedLookup {
  readonly lookup: DueLookup;
  readonly error: SafetySyncError;
}

/** What became of a portion so far. */
interface Portion {
  readonly queue: DueLookup[];
  readonly answers: Answer[];
  readonly failed: FailedLookup[];
  /** Failures since somebody was answered, in this portion. */
  inARow: number;
  /** What ended it, if not its end: no other id can be asked for. */
  failure: unknown;
}

/** Asks for one. What fails for the id alone is noted, everything else ends the portion. */
async function lookUp(context: ExtractContext, portion: Portion, lookup: DueLookup): Promise<void> {
  try {
    portion.answers.push(await askForUser(context, lookup.userId));
    portion.inARow = 0;
  } catch (error) {
    if (isOfOneId(error)) {
      portion.failed.push({ lookup, error });
      portion.inARow += 1;
    } else {
      portion.failure ??= error;
    }
  }
}

/** Asks until the queue is empty, or so many failed one after the other that the service may be out of order. */
async function askOn(context: ExtractContext, portion: Portion): Promise<void> {
  const work = async (): Promise<void> => {
    while (portion.failure === undefined && portion.inARow < IN_A_ROW) {
      const lookup = portion.queue.shift();
      if (lookup === undefined) return;
      await lookUp(context, portion, lookup);
    }
  };
  await Promise.all(Array.from({ length: POLITE_CONCURRENCY }, work));
}

/** Whether anybody is answered: those whom the service has answered before, then others who are due. */
async function isAnybodyAnswered(context: ExtractContext, portion: Portion): Promise<boolean> {
  const { settings, session } = context;
  const failed = new Set(portion.failed.map(({ lookup }) => lookup.userId));
  const latest = portion.answers.at(-1)?.userId;
  const known =
    latest === undefined
      ? await readAnsweredLookups(session.connection.db, settings.accountId, MOST_PROBES - 1)
      : [latest];
  const probes: DueLookup[] = known
    .filter((userId) => !failed.has(userId))
    .map((userId) => ({ userId, failures: 0 }));
  while (probes.length < MOST_PROBES && portion.queue.length > 0) {
    // From the end and the middle: ids that fail for one reason often lie together.
    probes.push(...portion.queue.splice(probes.length % 2 === 0 ? -1 : portion.queue.length >> 1, 1));
  }
  for (const probe of probes) {
    const before = portion.answers.length;
    await lookUp(context, portion, probe);
    if (portion.answers.length > before) return true;
    if (portion.failure !== undefined) return false;
  }
  return false;
}

/** Asks for a portion. The failure of one id is that id's own, unless nobody is answered any more. */
async function askPortion(context: ExtractContext, lookups: readonly DueLookup[]): Promise<Portion> {
  const portion: Portion = {
    queue: [...lookups],
    answers: [],
    failed: [],
    inARow: 0,
    failure: undefined,
  };
  for (;;) {
    await askOn(context, portion);
    const isDoubtful =
      portion.inARow >= IN_A_ROW || (portion.answers.length === 0 && portion.failed.length > 0);
    if (portion.failure !== undefined) return portion;
    if (isDoubtful && !(await isAnybodyAnswered(context, portion))) {
      portion.failure ??= portion.failed.at(-1)?.error;
      return portion;
    }
    portion.inARow = 0;
    if (portion.queue.length === 0) return portion;
  }
}

function toResults({ answers, failed, failure }: Portion): LookupResult[] {
  return [
    ...answers.map(({ kind, userId }) => ({
      userId,
      isKnown: kind === 'found',
      againInMs: dueAgain(AGAIN_MS[kind], userId),
      failures: 0,
      error: null,
    })),
    ...failed.map(({ lookup: { userId, failures }, error }) =>
      // Where nobody is answered the ids are not to blame: they stay due, behind all others.
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
async function describeFailing({ settings, session }: ExtractContext): Promise<string | null> {
  const { total, some } = await readFailingLookups(session.connection.db, settings.accountId, NAMED);
  if (total === 0) return null;
  const names = some.map(({ userId, error }) => `${userId} (${error ?? 'unknown'})`).join(', ');
  const more = total > some.length ? ` and ${total - some.length} more` : '';
  const what =
    total === 1 ? '1 user id cannot be looked up and is' : `${total} user ids cannot be looked up and are`;
  return `${what} asked for again later: ${names}${more}`;
}

export const extractLookup: Extract = async (context) => {
  const { loader, settings, session } = context;
  const { db } = session.connection;
  const begunAt = await readDatabaseTime(db);
  for (;;) {
    const lookups = await readDueLookups(db, {
      accountId: settings.accountId,
      all: context.kind !== 'sync',
      notAskedSince: begunAt,
      limit: PORTION,
    });
    if (lookups.length === 0) break;
    const portion = await askPortion(context, lookups);
    const { answers, failure } = portion;
    await loader.add(
      answers.flatMap((answer) => (answer.kind === 'unknown' ? [] : [answer.record])),
      {},
    );
    const answered = answers.flatMap(({ kind, userId }) => (kind === 'unusable' ? [] : [userId]));
    await context.checkpoint(async (tx) => {
      await writeLookupResults(tx, { accountId: settings.accountId, begunAt }, toResults(portion));
      if (answered.length === 0) return;
      const scope = { accountId: settings.accountId, stream: context.stream.name };
      await tx.execute(resolveAnswered(answered, scope));
    });
    const reason = missingReason(failure);
    if (reason !== null) return { outcome: 'skipped', reason };
    if (failure !== undefined) throw toFailure(failure);
  }
  return { outcome: 'read', covered: null, state: {}, note: await describeFailing(context), failure: null };
};
