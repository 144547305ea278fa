/**
 * Rows that a complete read did not show may be deleted, or their records may have arrived without a usable key. A record
 * without a key that has identity fields may be the row with the same identity; one without may be any row that is missing
 * when the number of such records grows. Those rows are not deleted while that many such records arrive; other rows are.
 */
import { sql } from 'drizzle-orm';
import { parseExactJson } from '../../shared/exact-json.ts';
import { formatNumber } from '../../shared/format.ts';
import type { KeylessMemory } from '../streams/state.ts';
import type { Queryable } from '../database/connection.ts';
import { toArrayLiteral } from '../database/array-literal.ts';
import { readVanishedFields } from './merge-sql.ts';
import { toIdentity } from './record.ts';
import type { TableCoverage, StreamShape } from '../database/table-shape.ts';

interface KeylessRead {
  readonly before: KeylessMemory;
  /** Number of records of this read without key and identity. */
  readonly count: number;
  /** Keys of all live rows that the read did not show. */
  readonly missing: ReadonlySet<string>;
  /** Number of new rows: each may be a record of the last read that has its key again. */
  readonly appeared: number;
}

/** Returns the memory after a complete read; its `kept` rows are not deleted. */
export function rememberKeyless({ before, count, missing, appeared }: KeylessRead): KeylessMemory {
  const still = before.kept.filter((key) => missing.has(key));
  const haveKeyAgain = before.kept.length - still.length + appeared;
  if (count > Math.max(0, before.count - haveKeyAgain)) return { count, kept: [...missing] };
  return { count, kept: count === 0 ? [] : still };
}

interface KeylessRequest {
  readonly accountId: string;
  readonly covered: TableCoverage;
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
  { parent, stream }: StreamShape,
  { accountId, covered, keyless, hasIssues, appeared }: KeylessRequest,
): Promise<string | null> {
  if (!hasIssues && keyless === null) return null;
  const came = await tx.execute<{ identity: string | null }>(sql`
    select identity from pg_temp.stage_issues where record_id is null and kind = 'record_rejected'`);
  const vanished = readVanishedFields(parent, stream.identityFields, { covered, accountId });
  const rows = came.length === 0 ? [] : await tx.execute<{ key: string; values: string }>(vanished);
  const identities = new Set(came.flatMap(({ identity }) => identity ?? []));
  const count = came.filter(({ identity }) => identity === null).length;
  const missing = new Set(rows.map(({ key }) => key));
  const before = keyless ?? { count: 0, kept: [] };
  const after = rememberKeyless({ before, count, missing, appeared });
  if (JSON.stringify(after) !== JSON.stringify(before)) {
    const memory = count === 0 ? null : JSON.stringify(after);
    await tx.execute(sql`update safety_sync.stream_state set keyless = ${memory}::jsonb
      where account_id = ${accountId} and stream = ${stream.name}`);
  }
  const mayBeUnidentified = new Set(after.kept);
  const kept = rows.filter(({ key, values }) => {
    const identity = identities.size === 0 ? null : toIdentity(parseExactJson(values) as unknown[]);
    return mayBeUnidentified.has(key) || (identity !== null && identities.has(identity));
  });
  if (kept.length === 0) return null;
  await tx.execute(sql`insert into pg_temp.stage_seen (ord, key)
    select 0, unnest(${toArrayLiteral(kept.map(({ key }) => key))}::text[])`);
  const [gone, without] = [formatNumber(kept.length, 'row'), formatNumber(came.length, 'record')];
  return `${gone} that the source did not show: not marked deleted, because ${without} without a usable key may be what they were (safety-sync data-issues)`;
}
