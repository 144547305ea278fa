/** How stored data differs from the settings. */
import { readStoredPartitions } from '../../engine/control-tables/met-ids.ts';
import type { Queryable } from '../../engine/database/connection.ts';
import { needsCleaning } from '../../engine/control-tables/stored-privacy.ts';
import { type PrivacySettings, readPolicies, type StreamPolicies } from '../../engine/privacy/settings.ts';
import { describeUnread, UNREAD_ADVICE, unreadOf } from '../../engine/streams/unread-partitions.ts';
import type { JudgedAccount } from './facts.ts';

/** Describes stored data that the privacy settings forbid, and the command that removes it; null: there is none. */
function describeUncleaned(all: readonly StreamPolicies[]): string | null {
  const names = all
    .filter(({ stored, policy, isPartial }) => isPartial || needsCleaning(stored, policy))
    .map(({ stream }) => stream);
  if (names.length === 0) return null;
  return `Stored data does not match the privacy settings yet: ${names.join(', ')}. The next run of each stream rewrites it; to rewrite it now: safety-sync sync STREAM`;
}

/** By account: the differences, one sentence each, and stored equipment of types that are not configured. */
export async function readDifferences(
  db: Queryable,
  accounts: readonly Pick<JudgedAccount, 'id' | 'config'>[],
  privacy: PrivacySettings,
) {
  const ids = accounts.map(({ id }) => id);
  const policies = await readPolicies(db, ids, privacy);
  const partitions = await readStoredPartitions(db, ids);
  return new Map(
    accounts.map(({ id, config: { equipmentTypes } }) => {
      const unread = unreadOf(
        partitions.filter(({ accountId }) => accountId === id),
        equipmentTypes,
      );
      const types = describeUnread(unread);
      const texts = [
        describeUncleaned(policies.filter(({ accountId }) => accountId === id)),
        types === null ? null : `${types}. ${UNREAD_ADVICE}`,
      ];
      return [id, { unread, texts: texts.filter((text) => text !== null) }];
    }),
  );
}
