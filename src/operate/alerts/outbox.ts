/**
 * `safety_sync.outbox`: open alerts and ended ones with an unsent end, a row for each channel, and when the report of
 * each account is due. The worker that holds the lock reads and writes it. Times are by the database's clock.
 */
import { getTableColumns, sql } from 'drizzle-orm';
import { openConnection, type Queryable } from '../../engine/database/connection.ts';
import { outbox } from '../../engine/control-tables/control-tables.ts';
import { toArrayLiteral } from '../../engine/database/array-literal.ts';
import type { AlertChannel } from '../status/facts.ts';
import type { AlertEvent } from '../status/problem-words.ts';

export type OutboxRow = typeof outbox.$inferSelect;

export interface AlertRow extends OutboxRow {
  readonly event: AlertEvent;
  readonly channel: AlertChannel;
}

export const isAlert = (row: OutboxRow): row is AlertRow => row.channel !== 'report';

/** A line break separates the fields, because names of accounts and events have none. */
export const textOfKey = ({ account_id, event, subject }: AlertRow): string =>
  [account_id, event, subject].join('\n');

/** Nothing of the alert is left to send, so its row is deleted. */
export const isOver = ({ ended_at, due_at }: OutboxRow): boolean => ended_at !== null && due_at === null;

/**
 * Works if no other worker does, in a session of its own; the end of the session releases the lock. Without a
 * transaction, because a message may take long.
 */
export async function takeTurn(
  url: string,
  what: 'alerts' | 'reports',
  work: (db: Queryable) => Promise<void>,
): Promise<void> {
  const connection = openConnection({ url, isSession: true });
  try {
    const [lock] = await connection.query<{ taken: boolean }>(
      `select pg_try_advisory_lock(hashtextextended('safety-sync:${what}', 0)) as taken`,
    );
    if (lock?.taken === true) await work(connection.db);
  } finally {
    await connection.close();
  }
}

export const readOutbox = async (db: Queryable, accountIds: readonly string[]): Promise<OutboxRow[]> =>
  await db
    .select()
    .from(outbox)
    .where(sql`account_id = any (${toArrayLiteral(accountIds)}::text[])`);

/** Error codes of reports with a failed last attempt, by account. */
export const failedReportsOf = (rows: readonly OutboxRow[]): ReadonlyMap<string, string> =>
  new Map(
    rows.flatMap((row) => (isAlert(row) || row.problem === null ? [] : [[row.account_id, row.problem]])),
  );

export async function writeRows(db: Queryable, rows: readonly OutboxRow[]): Promise<void> {
  for (const { account_id, event, subject, channel } of rows.filter(isOver))
    await db.delete(outbox).where(sql`account_id = ${account_id} and event = ${event}
      and subject = ${subject} and channel = ${channel}`);
  const staying = rows.filter((row) => !isOver(row));
  if (staying.length === 0) return;
  const { account_id, event, subject, channel, ...others } = getTableColumns(outbox);
  await db
    .insert(outbox)
    .values(staying)
    .onConflictDoUpdate({
      target: [account_id, event, subject, channel],
      set: Object.fromEntries(Object.keys(others).map((name) => [name, sql.raw(`excluded.${name}`)])),
    });
}
