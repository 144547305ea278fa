/**
 * `safety_sync.outbox`: alerts that last or whose end is still to be told, a row for each channel, and when the report of each
 * account is due. The worker that holds the lock reads and writes it. Times are ms by the database's clock.
 */
import { type SQL, sql } from 'drizzle-orm';
import { toIso, toMs } from '../../shared/time.ts';
import { openConnection, type Queryable } from '../../engine/database/connection.ts';
import { OWN_SETTINGS } from '../../engine/database/session-settings.ts';
import {
  type AlertChannel,
  type AlertEvent,
  outbox,
  type OutboxChannel,
  type OutboxEvent,
} from '../../engine/control-tables/control-tables.ts';
import { toArrayLiteral } from '../../engine/database/array-literal.ts';

export interface OutboxRow {
  readonly accountId: string;
  readonly event: OutboxEvent;
  readonly subject: string;
  readonly channel: OutboxChannel;
  readonly code: string | null;
  readonly detail: string | null;
  readonly beganMs: number;
  /** null: it lasts. */
  readonly endedMs: number | null;
  /** When its last message was sent; null: none was sent yet. */
  readonly sentMs: number | null;
  /** When to send next; null: no message is due. */
  readonly dueMs: number | null;
  /** Failed attempts since a message was last sent, and the problem of the last one. */
  readonly tries: number;
  readonly problem: string | null;
}

export interface AlertRow extends OutboxRow {
  readonly event: AlertEvent;
  readonly channel: AlertChannel;
}

export const isAlert = (row: OutboxRow): row is AlertRow => row.channel !== 'report';

/** A line break separates the fields, because names of accounts and events have none. */
export const textOfKey = ({
  accountId,
  event,
  subject,
}: Pick<OutboxRow, 'accountId' | 'event' | 'subject'>): string => [accountId, event, subject].join('\n');

/**
 * Works if no other worker does, in a session of its own whose end releases the lock. Without a transaction, because a
 * message may take long.
 */
export async function takeTurn(
  url: string,
  what: 'alerts' | 'reports',
  work: (db: Queryable) => Promise<void>,
): Promise<void> {
  const connection = openConnection({ url, applicationName: 'safety-sync', max: 1, isSession: true });
  try {
    const [lock] = await connection.query<{ taken: boolean }>(
      `select ${OWN_SETTINGS}, pg_try_advisory_lock(hashtextextended('safety-sync:${what}', 0)) as taken`,
    );
    if (lock?.taken === true) await work(connection.db);
  } finally {
    await connection.close();
  }
}

export async function readOutbox(db: Queryable, accountIds: readonly string[]): Promise<OutboxRow[]> {
  const rows = await db
    .select()
    .from(outbox)
    .where(sql`account_id = any (${toArrayLiteral(accountIds)}::text[])`);
  return rows.map(({ account_id, began_at, ended_at, sent_at, due_at, ...row }) => ({
    ...row,
    accountId: account_id,
    beganMs: toMs(began_at),
    endedMs: toMs(ended_at),
    sentMs: toMs(sent_at),
    dueMs: toMs(due_at),
  }));
}

export const failedReportsOf = (rows: readonly OutboxRow[]) =>
  rows.flatMap((row) =>
    isAlert(row) || row.problem === null ? [] : [{ accountId: row.accountId, code: row.problem }],
  );

export async function saveRows(db: Queryable, rows: readonly OutboxRow[]): Promise<void> {
  if (rows.length === 0) return;
  const { event, subject, channel, code, detail, tries, problem } = outbox;
  await db
    .insert(outbox)
    .values(
      rows.map(({ accountId, beganMs, endedMs, sentMs, dueMs, ...row }) => ({
        event: row.event,
        subject: row.subject,
        channel: row.channel,
        code: row.code,
        detail: row.detail,
        tries: row.tries,
        problem: row.problem,
        account_id: accountId,
        began_at: toIso(beganMs),
        ended_at: toIso(endedMs),
        sent_at: toIso(sentMs),
        due_at: toIso(dueMs),
      })),
    )
    .onConflictDoUpdate({
      target: [outbox.account_id, event, subject, channel],
      set: Object.fromEntries(
        [code, detail, tries, problem, outbox.began_at, outbox.ended_at, outbox.sent_at, outbox.due_at].map(
          ({ name }): [string, SQL] => [name, sql.raw(`excluded.${name}`)],
        ),
      ),
    });
}

export async function deleteRows(db: Queryable, rows: readonly OutboxRow[]): Promise<void> {
  for (const { accountId, event, subject, channel } of rows)
    await db.delete(outbox).where(sql`account_id = ${accountId} and event = ${event}
      and subject = ${subject} and channel = ${channel}`);
}
