/** Names of users, one request each (specification: users.info, known only as the protocol's example). */
import pLimit from 'p-limit';
import { SafetySyncError } from '../shared/errors.ts';
import { DAY_MS } from '../shared/time.ts';
import { isWireRecord } from '../streams/wire.ts';
import { resolveAnswered } from '../warehouse/issue-sql.ts';
import { type LookupResult, readDueLookups, writeLookupResults } from '../warehouse/user-lookups.ts';
import type { Extract, ExtractContext } from './extract.ts';

/** Requests in flight: names are in no hurry, the other streams go first. */
const POLITE_CONCURRENCY = 2;
/** Look-ups between two checkpoints. */
const PORTION = 200;
const REFRESH_MS = 7 * DAY_MS;
/** An id that the service does not know is not asked again for a month. */
const UNKNOWN_MS = 30 * DAY_MS;
const UNUSABLE_MS = DAY_MS;

type Answer =
  | { readonly kind: 'found'; readonly userId: string; readonly record: unknown }
  | { readonly kind: 'unusable'; readonly userId: string; readonly record: unknown }
  | { readonly kind: 'unknown'; readonly userId: string };

const AGAIN_MS = { found: REFRESH_MS, unknown: UNKNOWN_MS, unusable: UNUSABLE_MS } as const;

/** The example shows a number; an id that is not one can only be text. */
export function toUserParameter(userId: string): number | string {
  const number = Number(userId);
  return Number.isSafeInteger(number) && String(number) === userId ? number : userId;
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

function isUnknownUser(error: unknown): boolean {
  return (
    error instanceof SafetySyncError &&
    (error.code === 'content_not_found' || error.code === 'parameter_invalid')
  );
}

async function askFor(context: ExtractContext, userId: string): Promise<Answer> {
  const { api, stream, meter, signal } = context;
  const ask = async (user: number | string) =>
    await api.fetchObject({
      method: stream.method,
      objectKey: stream.answerKey,
      params: { user },
      meter,
      signal,
    });
  const parameter = toUserParameter(userId);
  let object: unknown;
  try {
    ({ object } = await ask(parameter));
  } catch (error) {
    if (!isUnknownUser(error)) throw error;
    const isFormRefused =
      (error as SafetySyncError).code === 'parameter_invalid' && typeof parameter === 'number';
    if (!isFormRefused) return { kind: 'unknown', userId };
    // The service may want the number as text.
    try {
      ({ object } = await ask(userId));
    } catch (second) {
      if (!isUnknownUser(second)) throw second;
      return { kind: 'unknown', userId };
    }
  }
  const answered = isWireRecord(object) ? (object[stream.keyField] ?? userId) : undefined;
  if (!isWireRecord(object) || toText(answered) !== userId) {
    // Kept as a data issue: it has no key that a user could be stored under.
    return { kind: 'unusable', userId, record: { asked_for: userId, answered: object ?? null } };
  }
  return { kind: 'found', userId, record: { ...object, [stream.keyField]: answered } };
}

function toText(value: unknown): string | undefined {
  return typeof value === 'string' || typeof value === 'number' ? String(value) : undefined;
}

function toFailure(error: unknown): Error {
  return error instanceof Error ? error : new Error('a look-up failed', { cause: error });
}

/** Asks for a portion. Ends at the first error, with what was answered until then. */
async function askPortion(context: ExtractContext, userIds: readonly string[]) {
  const limit = pLimit(POLITE_CONCURRENCY);
  const answers: Answer[] = [];
  let failure: unknown;
  await Promise.all(
    userIds.map((userId) =>
      limit(async () => {
        if (failure !== undefined) return;
        try {
          answers.push(await askFor(context, userId));
        } catch (error) {
          failure ??= error;
        }
      }),
    ),
  );
  return { answers, failure };
}

export const extractLookup: Extract = async (context) => {
  const { loader, settings, session } = context;
  let after: string | null = null;
  for (;;) {
    const userIds = await readDueLookups(session.connection.db, {
      accountId: settings.accountId,
      all: context.kind !== 'sync',
      after,
      limit: PORTION,
    });
    if (userIds.length === 0) break;
    after = userIds.at(-1) ?? null;
    const { answers, failure } = await askPortion(context, userIds);
    await loader.add(
      answers.flatMap((answer) => (answer.kind === 'unknown' ? [] : [answer.record])),
      {},
    );
    const results = answers.map(({ kind, userId }): LookupResult => ({
      userId,
      isKnown: kind === 'found',
      againInMs: dueAgain(AGAIN_MS[kind], userId),
    }));
    const answered = answers.flatMap(({ kind, userId }) => (kind === 'unusable' ? [] : [userId]));
    await context.checkpoint(async (tx) => {
      await writeLookupResults(tx, settings.accountId, results);
      if (answered.length === 0) return;
      const scope = { accountId: settings.accountId, stream: context.stream.name };
      await tx.execute(resolveAnswered(answered, scope));
    });
    const reason = missingReason(failure);
    if (reason !== null) return { outcome: 'skipped', reason };
    if (failure !== undefined) throw toFailure(failure);
  }
  return { outcome: 'read', covered: null, state: {}, note: null, failure: null };
};
