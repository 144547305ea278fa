/**
 * Reads and writes which people are forgotten, and how far the stored rows agree with the privacy settings.
 */
import { isDeepStrictEqual } from 'node:util';
import { sql } from 'drizzle-orm';
import type { StreamName } from '../streams/stream.ts';
import type { Queryable } from '../database/connection.ts';
import { toArrayLiteral } from '../database/array-literal.ts';
import { forgotten, privacyCleanings, type StreamKey } from './control-tables.ts';

export type ForgottenRow = Pick<typeof forgotten.$inferSelect, 'pseudonym' | 'person' | 'words' | 'key_id'>;

export async function readForgotten(db: Queryable, accountId: string): Promise<ForgottenRow[]> {
  return await db.execute<ForgottenRow>(sql`
    select pseudonym, person, words, key_id from ${forgotten} where account_id = ${accountId} order by pseudonym`);
}

export async function writeForgotten(
  db: Queryable,
  accountId: string,
  rows: readonly ForgottenRow[],
): Promise<void> {
  await db
    .insert(forgotten)
    .values(rows.map((row) => ({ account_id: accountId, ...row })))
    .onConflictDoNothing();
}

/** The protection of a stream; equal values mean equal protection. */
export interface StoredPolicy {
  readonly omit: readonly string[];
  readonly pseudonymize: readonly string[];
  /** Of people: words of USERS_KEEP. */
  readonly keep?: readonly string[];
  /** `secretId` of the pseudonyms, under the name in stored policies; null: no secret is needed. */
  readonly keyId: string | null;
  readonly forgotten: readonly string[];
}

export interface Cleaning {
  readonly policy: StoredPolicy;
  /** '': under way; null: it is done. */
  readonly position: string | null;
}

type StoredPrivacy = Record<'forgotten', string[]> & { [Name in keyof Cleaning]: Cleaning[Name] | null };

/** Reads the privacy state of all streams of these accounts that ever began a run: the others have no rows. */
export async function readStoredPrivacy(db: Queryable, accountIds: readonly string[]) {
  // JSON as text, because not every client parses it.
  const rows = await db.execute<{ account_id: string; stream: StreamName; found: string }>(sql`
    select s.account_id, s.stream, jsonb_build_object('policy', c.policy, 'position', c.position, 'forgotten', coalesce(
      (select jsonb_agg(f.pseudonym order by f.pseudonym) from ${forgotten} f where f.account_id = s.account_id), '[]'))::text as found
    from safety_sync.stream_state s
      left join ${privacyCleanings} c on c.account_id = s.account_id and c.stream = s.stream
    where s.account_id = any (${toArrayLiteral(accountIds)}::text[])`);
  return rows.map(({ found, ...row }) => {
    const { policy, position, forgotten: people } = JSON.parse(found) as StoredPrivacy;
    /** undefined: nothing was ever protected. */
    const cleaning: Cleaning | undefined = policy === null ? undefined : { policy, position };
    return { ...row, cleaning, /** Pseudonyms. */ forgotten: people };
  });
}

export const readCleaning = async (db: Queryable, { accountId, stream }: StreamKey) =>
  (await readStoredPrivacy(db, [accountId])).find((one) => one.stream === stream)?.cleaning;

/** Begins one, or records the current settings where no rows have to be cleaned (`position` null). */
export async function writeCleaning(
  db: Queryable,
  { accountId, stream }: StreamKey,
  {
    policy,
    position,
    rowsSeen,
    rowsChanged,
  }: Cleaning & { readonly rowsSeen: number; readonly rowsChanged: number },
): Promise<void> {
  await db.execute(sql`insert into ${privacyCleanings} as c
      (account_id, stream, policy, position, rows_seen, rows_changed, started_at, finished_at)
    values (${accountId}, ${stream}, ${JSON.stringify(policy)}::jsonb, ${position}, ${rowsSeen}, ${rowsChanged},
      statement_timestamp(), ${position === null ? sql`statement_timestamp()` : sql`null`})
    on conflict (account_id, stream) do update set policy = excluded.policy, position = excluded.position,
      rows_seen = excluded.rows_seen, rows_changed = excluded.rows_changed, finished_at = excluded.finished_at,
      started_at = case when c.position is null then excluded.started_at else c.started_at end`);
}

export const isSamePolicy = (one: StoredPolicy, other: StoredPolicy): boolean =>
  isDeepStrictEqual(one, other);

const added = (now: readonly string[], before: readonly string[]): string[] =>
  now.filter((one) => !before.includes(one));

/** What the new settings protect less than the old ones, in words. */
export const lostProtection = (before: StoredPolicy, now: StoredPolicy): string[] => [
  ...added(before.omit, now.omit).map((column) => `PRIVACY_OMIT had ${column}`),
  ...added(before.pseudonymize, [...now.omit, ...now.pseudonymize]).map(
    (column) => `PRIVACY_PSEUDONYMIZE had ${column}`,
  ),
  ...(before.keep === undefined ? [] : added(now.keep ?? [], before.keep)).map(
    (word) => `USERS_KEEP did not have ${word}`,
  ),
];

/** `due`: it has not begun with these settings. */
export type CleaningProgress = 'due' | 'under_way' | 'done';

export function cleaningProgress(found: Cleaning | undefined, policy: StoredPolicy): CleaningProgress {
  const before = found?.policy ?? NO_POLICY;
  if (found !== undefined && found.position !== null)
    return isSamePolicy(before, policy) ? 'under_way' : 'due';
  // What the old settings protect less than the new ones.
  const more = [...lostProtection(policy, before), ...added(policy.forgotten, before.forgotten)];
  return more.length > 0 ? 'due' : 'done';
}

export const NO_POLICY: StoredPolicy = { omit: [], pseudonymize: [], keyId: null, forgotten: [] };
