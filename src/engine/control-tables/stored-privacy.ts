/**
 * Reads and writes which people are forgotten, and how far the stored rows agree with the privacy settings.
 */
import { isDeepStrictEqual } from 'node:util';
import { and, eq, sql } from 'drizzle-orm';
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

interface ForgottenCount {
  readonly people: number;
  /** When the last person was forgotten, by the database's clock, ms; null: no person was. */
  readonly lastMs: number | null;
}

export async function countForgotten(db: Queryable, accountIds: readonly string[]): Promise<ForgottenCount> {
  const rows = await db.execute<{ people: number; last_ms: number }>(sql`
    select count(distinct person)::int as people, (extract(epoch from max(forgotten_at)) * 1000)::float8 as last_ms
    from ${forgotten} where account_id = any (${toArrayLiteral(accountIds)}::text[]) group by account_id`);
  return {
    people: rows.reduce((sum, { people }) => sum + people, 0),
    lastMs: rows.length === 0 ? null : Math.max(...rows.map((row) => row.last_ms)),
  };
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
  /** The key of the last record that was loaded again; null: it is done. */
  readonly position: string | null;
  readonly rowsSeen: number;
  readonly rowsChanged: number;
}

const COLUMNS = {
  // As text: not every client parses JSON.
  policy: sql<StoredPolicy>`${privacyCleanings.policy}::text`.mapWith(
    (text: string) => JSON.parse(text) as StoredPolicy,
  ),
  position: privacyCleanings.position,
  rowsSeen: privacyCleanings.rows_seen,
  rowsChanged: privacyCleanings.rows_changed,
};

/** undefined: nothing was ever protected. */
export async function readCleaning(
  db: Queryable,
  { accountId, stream }: StreamKey,
): Promise<Cleaning | undefined> {
  const isThis = and(eq(privacyCleanings.account_id, accountId), eq(privacyCleanings.stream, stream));
  const [row] = await db.select(COLUMNS).from(privacyCleanings).where(isThis);
  return row;
}

/** Reads the privacy state of many accounts with a few statements. */
export async function readAccountsPrivacy(db: Queryable, accountIds: readonly string[]) {
  const ids = sql`any (${toArrayLiteral(accountIds)}::text[])`;
  const { account_id, stream } = privacyCleanings;
  const cleanings = await db
    .select({ account_id, stream, ...COLUMNS })
    .from(privacyCleanings)
    .where(sql`${account_id} = ${ids}`);
  const people = await db.execute<{ id: string; pseudonyms: string }>(sql`
    select account_id as id, json_agg(pseudonym order by pseudonym)::text as pseudonyms from ${forgotten}
    where account_id = ${ids} group by account_id`);
  const begun = await db.execute<{ id: string; stream: string }>(
    sql`select account_id as id, stream from safety_sync.stream_state where account_id = ${ids}`,
  );
  const keyOf = (id: string, name: string): string => `${id} ${name}`;
  const known = new Map(cleanings.map((row) => [keyOf(row.account_id, row.stream), row]));
  const pseudonyms = new Map(people.map((row) => [row.id, JSON.parse(row.pseudonyms) as string[]]));
  const started = new Set(begun.map((row) => keyOf(row.id, row.stream)));
  return {
    cleaningOf: (id: string, name: StreamName): Cleaning | undefined => known.get(keyOf(id, name)),
    /** False: the stream never began a run, so it has no rows. */
    isBegun: (id: string, name: StreamName): boolean => started.has(keyOf(id, name)),
    /** Pseudonyms of the forgotten people. */
    forgottenOf: (id: string): readonly string[] => pseudonyms.get(id) ?? [],
  };
}

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

function added(now: readonly string[], before: readonly string[]): string[] {
  const known = new Set(before);
  return now.filter((one) => !known.has(one));
}

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
