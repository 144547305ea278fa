/**
 * Rows that a complete read did not show may be deleted, or their records may have arrived without a usable key. Rows that
 * may still exist are not deleted. A record without a key may be the row with the same identity. A record without an
 * identity may be any row that was first missing together with it, so those rows stay as long as such a record arrives. It
 * explains no row that disappears later: a record that never has a key does not prevent the deletion of other records for
 * ever.
 */
import { sql } from 'drizzle-orm';
import { parseExactJson } from '../../shared/exact-json.ts';
import { formatNumber } from '../../shared/format.ts';
import type { KeylessMemory } from '../streams/state.ts';
import type { Queryable } from '../database/connection.ts';
import { toArrayLiteral } from '../database/array-literal.ts';
import { readVanishedFields } from './merge-sql.ts';
import { toIdentity } from './record.ts';
import type { StreamShape } from '../database/table-shape.ts';
import type { Coverage } from '../streams/stream.ts';

/** Beyond this number records without a key cannot be matched with rows: the read deletes and remembers nothing. */
const MOST_REMEMBERED = 10_000;

interface KeylessRead {
  readonly before: KeylessMemory;
  /** One for each record of this read without key and identity. */
  readonly fingerprints: readonly string[];
  /** Keys of all live rows that the read did not show. */
  readonly missing: ReadonlySet<string>;
  /** Number of new records, and of those that were marked as deleted: each may be one with a repaired key. */
  readonly appeared: number;
}

/** The number of common elements. An element that both lists contain several times counts as often as in the list with fewer. */
function countCommon(one: readonly string[], other: readonly string[]): number {
  const left = new Map<string, number>();
  for (const text of one) left.set(text, (left.get(text) ?? 0) + 1);
  let common = 0;
  for (const text of other) {
    const times = left.get(text) ?? 0;
    if (times > 0) common += 1;
    left.set(text, times - 1);
  }
  return common;
}

/**
 * Returns whether one of the records without a key may have had one at the last complete read: the read has more of them
 * than those of the last read explain.
 */
export function hasLostKeys({ before, fingerprints, missing, appeared }: KeylessRead): boolean {
  // The number of kept rows that are present again: each stands for one record that has its key again.
  const withKeyAgain = before.kept.filter((key) => !missing.has(key)).length;
  const stillWithout = Math.max(0, before.fingerprints.length - withKeyAgain);
  const unchanged = Math.min(countCommon(before.fingerprints, fingerprints), stillWithout);
  // Each of the others may have changed since, or be one of the new records with a key.
  const explained = Math.max(unchanged, stillWithout - appeared);
  return fingerprints.length > explained;
}

interface KeylessRequest {
  readonly accountId: string;
  readonly covered: Coverage;
  readonly keyless: KeylessMemory | null;
  readonly hasIssues: boolean;
  readonly appeared: number;
}

/**
 * Adds rows that may be records without a key to `stage_seen`, so that they are not deleted, and returns a note with their
 * number. Part of the transaction, before rows are marked as deleted.
 */
export async function keepWhatMayBeKeyless(
  tx: Queryable,
  shape: StreamShape,
  { accountId, covered, keyless, hasIssues, appeared }: KeylessRequest,
): Promise<string | null> {
  if (!hasIssues && keyless === null) return null;
  const came = await tx.execute<{ fingerprint: string; identity: string | null }>(sql`
    select fingerprint, identity from pg_temp.stage_issues
    where record_id is null and kind = 'record_rejected' order by fingerprint`);
  const vanished = readVanishedFields(shape, { covered, accountId });
  const rows = came.length === 0 ? [] : await tx.execute<{ key: string; values: string }>(vanished);
  const identities = new Set(came.flatMap(({ identity }) => identity ?? []));
  const fingerprints = came.flatMap((one) => (one.identity === null ? [one.fingerprint] : []));
  const missing = new Set(rows.map(({ key }) => key));
  const before = keyless ?? { fingerprints: [], kept: [] };
  const isLost = hasLostKeys({ before, fingerprints, missing, appeared });
  const remembered = fingerprints.length === 0 ? [] : before.kept.filter((key) => missing.has(key));
  const mayBeUnidentified = isLost ? missing : new Set(remembered);
  const kept = rows.filter(({ key, values }) => {
    const identity = identities.size === 0 ? null : toIdentity(parseExactJson(values) as unknown[]);
    return mayBeUnidentified.has(key) || (identity !== null && identities.has(identity));
  });
  const isTooMuch = Math.max(fingerprints.length, mayBeUnidentified.size) > MOST_REMEMBERED;
  const after = isTooMuch ? before : { fingerprints, kept: [...mayBeUnidentified] };
  if (JSON.stringify(after) !== JSON.stringify(before)) {
    const memory = after.fingerprints.length === 0 ? null : JSON.stringify(after);
    await tx.execute(sql`update safety_sync.stream_state set keyless = ${memory}::jsonb
      where account_id = ${accountId} and stream = ${shape.stream.name}`);
  }
  if (kept.length === 0) return null;
  await tx.execute(sql`insert into pg_temp.stage_seen (ord, key)
    select 0, unnest(${toArrayLiteral(kept.map(({ key }) => key))}::text[])`);
  const [gone, without] = [formatNumber(kept.length, 'row'), formatNumber(came.length, 'record')];
  return `${gone} that the source did not show: not marked deleted, because ${without} without a usable key may be what they were (safety-sync data-issues)`;
}
