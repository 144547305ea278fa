/** `safety_sync.sources`: the service that each account belongs to. */
import { sql } from 'drizzle-orm';
import type { Queryable } from '../database/connection.ts';
import { runs, sources, streamState } from './control-tables.ts';

/** A service, and the account there. */
export type Source = Pick<typeof sources.$inferSelect, 'address' | 'service_id' | 'service_name'>;

/** undefined: nothing was stored from one. Until then the account belongs to no service: an address may have been mistyped. */
export async function readSource(db: Queryable, accountId: string): Promise<Source | undefined> {
  const [row] = await db.execute<Source>(sql`
    select address, service_id, service_name from ${sources} where account_id = ${accountId} and (moved_at is not null
        or exists (select from ${streamState} s where s.account_id = ${accountId} and s.last_success_at is not null)
        or exists (select from ${runs} r where r.account_id = ${accountId} and r.records_read > 0))`);
  return row;
}

export async function writeSource(db: Queryable, accountId: string, source: Source): Promise<void> {
  await db
    .insert(sources)
    .values({ account_id: accountId, ...source })
    .onConflictDoUpdate({ target: sources.account_id, set: source });
}
