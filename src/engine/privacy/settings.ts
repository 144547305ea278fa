/**
 * Determines the protected values of a stream, from the settings and the forgotten people, and cleans the stored data
 * accordingly.
 */
import { isDeepStrictEqual } from 'node:util';
import { sql } from 'drizzle-orm';
import type { Queryable } from '../database/connection.ts';
import {
  lostProtection,
  needsCleaning,
  type StoredPolicy,
  writePolicy,
} from '../control-tables/stored-privacy.ts';
import { forgotten, privacyCleanings, streamState } from '../control-tables/control-tables.ts';
import type { StreamSession } from '../control-tables/stream-session.ts';
import { toArrayLiteral } from '../database/array-literal.ts';
import { instantOf } from '../database/sql-names.ts';
import { streamShape } from '../database/table-shape.ts';
import { cleanStored } from './clean-stored.ts';
import { createProtection, isDropped, type Protection } from './protect.ts';
import { SafetySyncError } from '../../shared/errors.ts';
import { createPseudonyms, type Pseudonyms } from '../../shared/pseudonym.ts';
import { STREAMS } from '../streams/index.ts';
import { storedColumns } from '../streams/stored-columns.ts';
import type { StreamDefinition, StreamName } from '../streams/stream.ts';

export interface PrivacySettings extends Pick<StoredPolicy, 'omit' | 'pseudonymize' | 'keep'> {
  /** The secret of the pseudonyms (`PRIVACY_KEY`). */
  readonly key?: string | undefined;
}

/** A stream of an account, within the context of its runs. */
interface PrivacyScope {
  readonly stream: StreamDefinition;
  readonly settings: { readonly accountId: string };
  readonly privacy: PrivacySettings;
}

type ForgottenRow = Pick<typeof forgotten.$inferSelect, 'pseudonym' | 'person' | 'words' | 'key_id'>;

const pseudonymsOf = ({ key: secret }: PrivacySettings): Pseudonyms | null =>
  secret === undefined ? null : createPseudonyms(secret);

/** `forgotten`: pseudonyms of people. */
function policyOf(
  stream: StreamDefinition,
  settings: PrivacySettings,
  forgotten: readonly string[],
): StoredPolicy {
  const own = new Set(storedColumns(stream).map(({ name }) => name));
  const [omit, pseudonymize] = [settings.omit, settings.pseudonymize].map((columns) =>
    columns.filter((column) => own.has(column)).sort(),
  ) as [string[], string[]];
  const needsSecret = pseudonymize.length > 0 || forgotten.length > 0;
  const keep = stream.personal === undefined ? {} : { keep: (settings.keep ?? []).toSorted() };
  const keyId = needsSecret ? (pseudonymsOf(settings)?.secretId ?? null) : null;
  return { omit, pseudonymize, ...keep, keyId, forgotten };
}

/** The settings that the stored rows of a stream agree with (`stored`), and those that they should. */
export interface StreamPolicies {
  readonly accountId: string;
  readonly stream: StreamName;
  readonly stored: StoredPolicy;
  /** A cleaning was interrupted: not all rows agree with it. */
  readonly isPartial: boolean;
  readonly policy: StoredPolicy;
}

const NO_POLICY: StoredPolicy = { omit: [], pseudonymize: [], keyId: null, forgotten: [] };

/** For each stream that ever began a run: the others have no rows. */
export async function readPolicies(
  db: Queryable,
  accountIds: readonly string[],
  settings: PrivacySettings,
): Promise<StreamPolicies[]> {
  const rows = await db.execute<StreamPolicies & Record<string, unknown> & { people: string[] }>(sql`
    select s.account_id as "accountId", s.stream, coalesce(c.policy, ${JSON.stringify(NO_POLICY)}::jsonb) as stored,
      c.policy is not null and c.finished_at is null as "isPartial", coalesce(
        (select jsonb_agg(f.pseudonym order by f.pseudonym) from ${forgotten} f where f.account_id = s.account_id), '[]') as people
    from ${streamState} s left join ${privacyCleanings} c on c.account_id = s.account_id and c.stream = s.stream
    where s.account_id = any (${toArrayLiteral(accountIds)}::text[])`);
  return STREAMS.flatMap((stream) =>
    rows
      .filter((row) => row.stream === stream.name)
      .map((row) => ({ ...row, policy: policyOf(stream, settings, row.people) })),
  );
}

/** The forgotten people. Errors: `privacy_key_wrong`. */
export async function readForgotten(db: Queryable, accountId: string, settings: PrivacySettings) {
  const pseudonyms = pseudonymsOf(settings);
  const people = await db.execute<ForgottenRow>(sql`
    select pseudonym, person, words, key_id from ${forgotten} where account_id = ${accountId} order by pseudonym`);
  if (people.some(({ key_id: secretId }) => secretId !== pseudonyms?.secretId)) {
    const which =
      pseudonyms === null ? 'a PRIVACY_KEY, and none is set' : 'another PRIVACY_KEY than this one';
    const message = `people were forgotten with ${which}`;
    throw new SafetySyncError('privacy_key_wrong', message);
  }
  return people;
}

/** `protection` null: everything may be stored. Errors: `privacy_key_wrong`. */
export async function readPrivacy(db: Queryable, { stream, settings, privacy }: PrivacyScope) {
  const pseudonyms = pseudonymsOf(privacy);
  const people = await readForgotten(db, settings.accountId, privacy);
  const ids = people.map(({ pseudonym }) => pseudonym);
  const policy = policyOf(stream, privacy, ids);
  const keepsAll = stream.personal === undefined && !Object.values(stream.fields).some(isDropped);
  const isEmpty = policy.omit.length === 0 && policy.keyId === null && keepsAll;
  const protection = isEmpty ? null : createProtection({ ...policy, stream, pseudonyms, forgotten: people });
  return { protection, policy };
}

export const lessProtection = (accountId: string, lost: readonly string[]): SafetySyncError =>
  new SafetySyncError(
    'privacy_less',
    `account ${accountId}: these settings protect less than those with which the warehouse was filled: ${lost.join('; ')}`,
  );

/**
 * Called under the stream's lock, before rows are stored: cleans the stored data if the settings protect more than before.
 * `protection` null: everything may be stored. `cleaned`: the number of changed rows; undefined: the settings are those of before.
 * Errors: `privacy_key_wrong`; `privacy_less` unless less protection is permitted.
 */
export async function applyPrivacy(
  session: StreamSession,
  context: PrivacyScope & { readonly signal: AbortSignal; readonly mayLift?: boolean },
): Promise<{ readonly protection: Protection | null; readonly cleaned: number | undefined }> {
  const { db } = session.connection;
  const { stream, signal, mayLift = false } = context;
  const { accountId } = context.settings;
  const { protection, policy } = await readPrivacy(db, context);
  const scope = { accountId, stream: stream.name };
  const all = await readPolicies(db, [accountId], context.privacy);
  const { stored: before = NO_POLICY, isPartial } = all.find((one) => one.stream === stream.name) ?? {};
  if (isDeepStrictEqual(before, policy) && !isPartial) return { protection, cleaned: undefined };
  const lost = lostProtection(before, policy);
  if (lost.length > 0 && !mayLift) throw lessProtection(accountId, lost);
  let cleaned = 0;
  if ((isPartial || needsCleaning(before, policy)) && protection !== null) {
    // Rows that are cleaned already must not be stored again by less protection, if this is interrupted.
    await writePolicy(db, scope, policy, false);
    const request = { session, shape: streamShape(stream), accountId, protection, signal };
    cleaned = await cleanStored(request);
  }
  const hasOtherKey = before.keyId !== null && policy.keyId !== null && before.keyId !== policy.keyId;
  const hasReturned = before.forgotten.some((one) => !policy.forgotten.includes(one));
  // The stored value was never one of the source: the next read corrects a row without a hash in place.
  const time = await session.begin();
  if (lost.length > 0 || hasOtherKey || hasReturned)
    await db.execute(
      sql`update ${stream.parent} set _hash = null, _synced_at = ${instantOf(time)} where account_id = ${accountId}`,
    );
  await writePolicy(db, scope, policy, true);
  await session.commit();
  return { protection, cleaned };
}
