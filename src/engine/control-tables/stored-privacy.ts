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
  readonly rowsSeen: number;
  readonly rowsChanged: number;
}

interface PrivacyRow extends Record<string, unknown> {
  readonly account_id: string;
  readonly stream: StreamName;
  /** JSON as text, because not every client parses it. */
  readonly policy: string | null;
  readonly position: string | null;
  readonly rowsSeen: number;
  readonly rowsChanged: number;
  readonly pseudonyms: string | null;
}

/** Reads the privacy state of all streams of these accounts that ever began a run. */
export async function readAccountsPrivacy(db: Queryable, accountIds: readonly string[]) {
  const rows = await db.execute<PrivacyRow>(sql`
    select s.account_id, s.stream, c.policy::text as policy, c.position, c.rows_seen::float8 as "rowsSeen",
      c.rows_changed::float8 as "rowsChanged", (select json_agg(f.pseudonym order by f.pseudonym)::text from ${forgotten} f
        where f.account_id = s.account_id) as pseudonyms
    from safety_sync.stream_state s
      left join ${privacyCleanings} c on c.account_id = s.account_id and c.stream = s.stream
    where s.account_id = any (${toArrayLiteral(accountIds)}::text[])`);
  const find = (id: string, name?: StreamName) =>
    rows.find(({ account_id, stream }) => account_id === id && (name === undefined || stream === name));
  return {
    /** undefined: nothing was ever protected. */
    cleaningOf(id: string, name: StreamName): Cleaning | undefined {
      const row = find(id, name);
      if (row?.policy == null) return undefined;
      const { position, rowsSeen, rowsChanged } = row;
      return { policy: JSON.parse(row.policy) as StoredPolicy, position, rowsSeen, rowsChanged };
    },
    /** False: the stream never began a run, so it has no rows. */
    isBegun: (id: string, name: StreamName): boolean => find(id, name) !== undefined,
    /** Pseudonyms of the forgotten people. */
    forgottenOf: (id: string): readonly string[] => JSON.parse(find(id)?.pseudonyms ?? '[]') as string[],
  };
}

export const readCleaning = async (db: Queryable, { accountId, stream }: StreamKey) =>
  (await readAccountsPrivacy(db, [accountId])).cleaningOf(accountId, stream);

/** Begins one, or records the current settings where no rows have to be cleaned (`position` null). */
export async function writeCleaning(db: Queryable, scope: StreamKey, cleaning: Cleaning): Promise<void> {
  const { accountId, stream } = scope;
  const { policy, position, rowsSeen, rowsChanged } = cleaning;
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

/** Whether the new settings protect more than the old ones. */
const protectsMore = (now: StoredPolicy, before: StoredPolicy): boolean =>
  [
    ...added(now.omit, before.omit),
    ...added(now.pseudonymize, [...before.omit, ...before.pseudonymize]),
    ...added(before.keep ?? [], now.keep ?? []),
    ...added(now.forgotten, before.forgotten),
  ].length > 0;

/** `due`: it has not begun with these settings. */
export type CleaningProgress = 'due' | 'under_way' | 'done';

export function cleaningProgress(found: Cleaning | undefined, policy: StoredPolicy): CleaningProgress {
  const before = found?.policy ?? NO_POLICY;
  if (found !== undefined && found.position !== null)
    return isSamePolicy(before, policy) ? 'under_way' : 'due';
  return protectsMore(policy, before) ? 'due' : 'done';
}

export const NO_POLICY: StoredPolicy = { omit: [], pseudonymize: [], keyId: null, forgotten: [] };
