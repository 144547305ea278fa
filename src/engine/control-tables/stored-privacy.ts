/** The privacy settings that the stored rows of a stream agree with, and what two of them differ in. */
import { sql } from 'drizzle-orm';
import type { Queryable } from '../database/connection.ts';
import { asInserted } from '../database/sql-names.ts';
import { privacyCleanings, type StreamKey } from './control-tables.ts';

/** The protection of a stream; equal values mean equal protection. */
export interface StoredPolicy {
  /** Columns as `table.column`. */
  readonly omit: readonly string[];
  readonly pseudonymize: readonly string[];
  /** Of people: words of USERS_KEEP. */
  readonly keep?: readonly string[];
  /** `secretId` of the pseudonyms, under the name in stored policies; null: no secret is needed. */
  readonly keyId: string | null;
  readonly forgotten: readonly string[];
}

/** Records that all rows of the stream agree with the policy; not `isDone`: that they are to. */
export async function writePolicy(
  db: Queryable,
  { accountId, stream }: StreamKey,
  policy: StoredPolicy,
  isDone: boolean,
): Promise<void> {
  await db.execute(sql`
    insert into ${privacyCleanings} (account_id, stream, policy, finished_at)
    values (${accountId}, ${stream}, ${JSON.stringify(policy)}::jsonb, ${isDone ? sql`statement_timestamp()` : null})
    on conflict (account_id, stream) do update set ${asInserted(['policy', 'finished_at'])}`);
}

const added = (now: readonly string[], before: readonly string[]): string[] =>
  now.filter((one) => !before.includes(one));

/** Protections of the old settings that the new ones lack, in words. */
export const lostProtection = (before: StoredPolicy, now: StoredPolicy): string[] => [
  ...added(before.omit, now.omit).map((column) => `PRIVACY_OMIT had ${column}`),
  ...added(before.pseudonymize, [...now.omit, ...now.pseudonymize]).map(
    (column) => `PRIVACY_PSEUDONYMIZE had ${column}`,
  ),
  ...(before.keep === undefined ? [] : added(now.keep ?? [], before.keep)).map(
    (word) => `USERS_KEEP did not have ${word}`,
  ),
];

/** The stored settings protect less than the new ones. */
export const needsCleaning = (stored: StoredPolicy, policy: StoredPolicy): boolean =>
  lostProtection(policy, stored).length > 0 || added(policy.forgotten, stored.forgotten).length > 0;
