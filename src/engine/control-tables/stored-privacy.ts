/** Reads and writes the privacy settings that the stored rows agree with. */
import { sql } from 'drizzle-orm';
import type { StreamName } from '../streams/stream.ts';
import type { Queryable } from '../database/connection.ts';
import { toArrayLiteral } from '../database/array-literal.ts';
import { asInserted } from '../database/sql-names.ts';
import { forgotten, privacyCleanings, type StreamKey, streamState } from './control-tables.ts';

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

export const NO_POLICY: StoredPolicy = { omit: [], pseudonymize: [], keyId: null, forgotten: [] };

/** Of a stream that ever began a run. */
export interface StoredPrivacy extends Record<string, unknown> {
  readonly accountId: string;
  readonly stream: StreamName;
  /** The settings that its stored rows agree with. */
  readonly stored: StoredPolicy;
  /** A cleaning was interrupted: not all rows agree with it. */
  readonly isPartial: boolean;
  /** Pseudonyms of the forgotten people. */
  readonly forgotten: readonly string[];
}

export async function readStoredPrivacy(
  db: Queryable,
  accountIds: readonly string[],
): Promise<StoredPrivacy[]> {
  return await db.execute<StoredPrivacy>(sql`
    select s.account_id as "accountId", s.stream, coalesce(c.policy, ${JSON.stringify(NO_POLICY)}::jsonb) as stored,
      c.policy is not null and c.finished_at is null as "isPartial", coalesce(
        (select jsonb_agg(f.pseudonym order by f.pseudonym) from ${forgotten} f where f.account_id = s.account_id), '[]') as forgotten
    from ${streamState} s left join ${privacyCleanings} c on c.account_id = s.account_id and c.stream = s.stream
    where s.account_id = any (${toArrayLiteral(accountIds)}::text[])`);
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
