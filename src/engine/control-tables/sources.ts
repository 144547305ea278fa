/** `safety_sync.sources`: the service that each account belongs to. */
import { eq, getTableColumns, sql } from 'drizzle-orm';
import type { Database, Queryable } from '../database/connection.ts';
import { backfillSlices, optionalMethods, runs, sources, streamState } from './control-tables.ts';

/** A service, and the account there. */
export type Source = Pick<typeof sources.$inferSelect, 'address' | 'service_id' | 'service_name'>;

/** `isRead`: something was stored from it. Before that, the account belongs to no service: an address may have been mistyped. */
export async function readSource(db: Queryable, accountId: string) {
  const [row] = await db.execute<Source & { isRead: boolean }>(sql`
    select address, service_id, service_name, moved_at is not null
        or exists (select from ${streamState} s where s.account_id = ${accountId} and s.last_success_at is not null)
        or exists (select from ${runs} r where r.account_id = ${accountId} and r.records_read > 0) as "isRead"
    from ${sources} where account_id = ${accountId}`);
  return row;
}

export async function writeSource(db: Queryable, accountId: string, source: Source): Promise<void> {
  await db
    .insert(sources)
    .values({ account_id: accountId, ...source })
    .onConflictDoUpdate({ target: sources.account_id, set: source });
}

/** Columns that are no position: they hold for what is stored, wherever it came from. */
const STAYING = ['account_id', 'stream', 'complete_until', 'retained_at', 'read_parts'];

/**
 * Gives the account another address, and resets its positions: each stream is read as if for the first time, and no method
 * counts as not offered.
 */
export async function moveSource(db: Database, accountId: string, source: Source): Promise<void> {
  const positions = Object.keys(getTableColumns(streamState)).filter((name) => !STAYING.includes(name));
  await db.transaction(async (tx) => {
    await tx
      .update(sources)
      .set({ ...source, moved_at: sql`now()` })
      .where(eq(sources.account_id, accountId));
    await tx
      .update(streamState)
      .set(Object.fromEntries(positions.map((name) => [name, sql`default`])))
      .where(eq(streamState.account_id, accountId));
    for (const table of [backfillSlices, optionalMethods])
      await tx.delete(table).where(eq(table.account_id, accountId));
  });
}
