/**
 * Reads and writes `safety_sync.outbox`, through which several workers send each alert and each scheduled report once. A
 * worker claims rows that are due, sends them, and settles the claim. A claim moves `due_at` to its end, so that the rows of
 * a worker that died become due again for another one.
 *
 * Times are ms by the database's clock and are passed as parameters, because the nodes of a distributed table each have a
 * clock of their own.
 */
import { type SQL, sql } from 'drizzle-orm';
import { HOUR_MS, toMs } from '../../shared/time.ts';
import type { Queryable } from '../../engine/database/connection.ts';
import {
  type AlertChannel,
  type AlertEvent,
  outbox,
  type OutboxChannel,
  type OutboxEvent,
} from '../../engine/control-tables/control-tables.ts';
import { toArrayLiteral } from '../../engine/database/array-literal.ts';
import { timestampLiteral } from '../../engine/database/sql-names.ts';
import type { AlertsStatus } from '../status/status.ts';

export interface OutboxKey {
  readonly accountId: string;
  readonly event: OutboxEvent;
  readonly subject: string;
}

export interface OutboxRow extends OutboxKey {
  readonly channel: OutboxChannel;
  readonly code: string | null;
  readonly detail: string | null;
  readonly beganMs: number;
  /** null: the condition lasts. */
  readonly endedMs: number | null;
  /** When its last message was sent; null: none was sent yet. */
  readonly sentMs: number | null;
  /** When to send next, or when the claim ends; null: no message is due. */
  readonly dueMs: number | null;
  readonly tries: number;
  readonly problem: string | null;
}

export interface AlertRow extends OutboxRow {
  readonly event: AlertEvent;
  readonly channel: AlertChannel;
  /** Advice, when it does not follow from event and code. Kept in memory only. */
  readonly advice?: string | undefined;
}

export const isAlert = (row: OutboxRow): row is AlertRow => row.channel !== 'report';

type RowKey = OutboxKey & Pick<OutboxRow, 'channel'>;
export type NewRow = RowKey & Pick<OutboxRow, 'code' | 'detail'> & { readonly dueMs: number };

/** The time of the observation, and the current time. */
interface Observed {
  /** Rows that changed later are not affected by the observation. */
  readonly asOfMs: number;
  readonly nowMs: number;
}

/** Identifies the worker and the time of its claim. */
interface Claim {
  readonly owner: string;
  readonly nowMs: number;
  readonly untilMs: number;
}

/** `nextMs`: when the row is due again; null: never. */
type Outcome =
  | { readonly sentMs: number; readonly nextMs: number | null }
  | { readonly problem: string; readonly againMs: number };

/** A line break separates the fields, because names of accounts and events have none. */
export const textOfKey = ({ accountId, event, subject }: OutboxKey): string =>
  [accountId, event, subject].join('\n');

/** Matches these rows. Filters by account as well, because accounts are the distribution key. */
function matches(rows: readonly RowKey[]): SQL {
  const accounts = toArrayLiteral([...new Set(rows.map(({ accountId }) => accountId))]);
  const keys = toArrayLiteral(rows.map((row) => `${textOfKey(row)}\n${row.channel}`));
  return sql`account_id = any (${accounts}::text[])
    and account_id || E'\\n' || event || E'\\n' || subject || E'\\n' || channel = any (${keys}::text[])`;
}

const outboxRow = ({
  account_id,
  began_at,
  ended_at,
  sent_at,
  due_at,
  ...row
}: typeof outbox.$inferSelect): OutboxRow => ({
  ...row,
  accountId: account_id,
  beganMs: toMs(began_at),
  endedMs: toMs(ended_at),
  sentMs: toMs(sent_at),
  dueMs: toMs(due_at),
});

/** Later than any delay or claim: a time beyond it was recorded before a clock was put back. */
const MOST_AHEAD_MS = 2 * HOUR_MS;

/**
 * Rows with times that are still to come would hold messages back until then: alerts get the present time, and reports are
 * planned again.
 */
export async function correctTimes(
  db: Queryable,
  accountIds: readonly string[],
  nowMs: number,
): Promise<void> {
  const now = sql`${timestampLiteral(nowMs)}::timestamptz`;
  const limit = sql`${timestampLiteral(nowMs + MOST_AHEAD_MS)}::timestamptz`;
  const atMost = (column: string): SQL =>
    sql`${sql.raw(column)} = case when ${sql.raw(column)} > ${now} then ${now} else ${sql.raw(column)} end`;
  const isAhead = sql`account_id = any (${toArrayLiteral(accountIds)}::text[]) and (greatest(began_at, ended_at, sent_at) > ${limit}
    or (due_at > ${limit} and (claimed_by is not null or tries > 0)))`;
  const times = ['began_at', 'ended_at', 'sent_at', 'due_at'].map(atMost);
  await db.execute(sql`update ${outbox} set ${sql.join(times, sql`, `)}, claimed_by = null
    where channel <> 'report' and ${isAhead}`);
  await db.execute(sql`delete from ${outbox} where channel = 'report' and ${isAhead}`);
}

/** Returns the rows that last or have a message due. */
export async function readOutbox(db: Queryable, accountIds: readonly string[]): Promise<OutboxRow[]> {
  const rows = await db
    .select()
    .from(outbox)
    .where(
      sql`account_id = any (${toArrayLiteral(accountIds)}::text[]) and (ended_at is null or due_at is not null)`,
    );
  return rows.map(outboxRow);
}

export const failedReportsOf = (rows: readonly OutboxRow[]): AlertsStatus['failedReports'] =>
  rows.flatMap((row) =>
    isAlert(row) || row.problem === null ? [] : [{ accountId: row.accountId, code: row.problem }],
  );

/**
 * Inserts rows. An ended alert with the same key is replaced after its messages were sent; a report with the same key is
 * replaced if its schedule has changed.
 */
export async function beginRows(
  db: Queryable,
  begun: readonly NewRow[],
  { asOfMs }: Observed,
): Promise<void> {
  if (begun.length === 0) return;
  const values = begun
    .toSorted((one, other) => (textOfKey(one) < textOfKey(other) ? -1 : 1))
    .map(
      ({ accountId, event, subject, channel, code, detail, dueMs }) =>
        sql`(${accountId}, ${event}, ${subject}, ${channel}, ${code}, ${detail}, ${timestampLiteral(asOfMs)}, ${timestampLiteral(dueMs)})`,
    );
  await db.execute(sql`insert into ${outbox} as t
      (account_id, event, subject, channel, code, detail, began_at, due_at) values ${sql.join(values, sql`, `)}
    on conflict (account_id, event, subject, channel) do update set code = excluded.code, detail = excluded.detail,
      began_at = excluded.began_at, due_at = excluded.due_at, ended_at = null, sent_at = null, claimed_by = null,
      tries = 0, problem = null
    where (t.ended_at <= excluded.began_at and t.due_at is null)
      or (t.channel = 'report' and t.detail <> excluded.detail)`);
}

/**
 * Reopens alerts with a resolution that was not sent yet: no message is sent about the resolution or the new beginning. If a
 * worker died while it sent the resolution, that may have arrived, so the new beginning is sent.
 */
export async function resumeAlerts(
  db: Queryable,
  rows: readonly RowKey[],
  { asOfMs, nowMs }: Observed,
): Promise<void> {
  if (rows.length === 0) return;
  await db.execute(sql`update ${outbox} set ended_at = null, claimed_by = null,
      due_at = case when claimed_by is not null then ${timestampLiteral(nowMs)} when sent_at is null then due_at end,
      sent_at = case when claimed_by is null then sent_at end
    where ${matches(rows)} and ended_at <= ${timestampLiteral(asOfMs)} and due_at is not null
      and (claimed_by is null or due_at <= ${timestampLiteral(nowMs)})`);
}

/**
 * Resolves alerts. Those never sent are dropped; for the others a resolution is due, for claimed ones after the claim.
 * `isSilent`: none is due.
 */
export async function endAlerts(
  db: Queryable,
  rows: readonly RowKey[],
  { asOfMs, nowMs, isSilent = false }: Observed & { readonly isSilent?: boolean },
): Promise<void> {
  if (rows.length === 0) return;
  const now = timestampLiteral(nowMs);
  const due = isSilent
    ? sql`due_at = null, claimed_by = null`
    : sql`due_at = case when claimed_by is not null then due_at when sent_at is not null or tries > 0 then ${now} end`;
  await db.execute(sql`update ${outbox} set ended_at = ${now}, ${due}
    where ${matches(rows)} and ended_at is null and began_at < ${timestampLiteral(asOfMs)}`);
}

/** Claims rows that are due. If several workers claim the same row, one gets it. */
export async function claimRows(
  db: Queryable,
  rows: readonly RowKey[],
  { owner, nowMs, untilMs }: Claim,
): Promise<OutboxRow[]> {
  if (rows.length === 0) return [];
  const claimed = await db
    .update(outbox)
    .set({ claimed_by: owner, due_at: timestampLiteral(untilMs) })
    .where(sql`${matches(rows)} and due_at <= ${timestampLiteral(nowMs)}`)
    .returning();
  return claimed.map(outboxRow);
}

/**
 * Ends a claim: the rows were sent, or they are due again at `againMs`. If an alert was resolved after it was claimed, its
 * resolution becomes due. A claim that has expired and was taken over changes nothing.
 */
export async function settleClaim(
  db: Queryable,
  claimed: readonly OutboxRow[],
  { owner, untilMs }: Claim,
  outcome: Outcome,
): Promise<void> {
  if (claimed.length === 0) return;
  let change: SQL;
  if ('problem' in outcome) {
    change = sql`due_at = ${timestampLiteral(outcome.againMs)}, tries = tries + 1, problem = ${outcome.problem}`;
  } else {
    const now = timestampLiteral(outcome.sentMs);
    const next = outcome.nextMs === null ? sql`null` : timestampLiteral(outcome.nextMs);
    const resolved = claimed.filter(({ endedMs }) => endedMs !== null);
    change = sql`sent_at = ${now}, tries = 0, problem = null,
      due_at = case when ended_at is null then ${next} when not (${matches(resolved)}) then ${now} end`;
  }
  await db.execute(sql`update ${outbox} set ${change}, claimed_by = null
    where ${matches(claimed)} and claimed_by = ${owner}
      and due_at = ${timestampLiteral(untilMs)}`);
}

/**
 * Records an outage of the database that was sent while no row could be written, and makes its resolution due. Several
 * workers may have sent its beginning; the resolution is sent once, because recording an outage again changes nothing.
 */
export async function recordOutageSent(
  db: Queryable,
  { accountId, channel, code, beganMs }: AlertRow,
  nowMs: number,
): Promise<void> {
  const [began, now] = [timestampLiteral(beganMs), timestampLiteral(nowMs)];
  await db.execute(sql`insert into ${outbox} as t
      (account_id, event, subject, channel, code, began_at, ended_at, sent_at, due_at)
    values (${accountId}, 'database_away', '', ${channel}, ${code}, ${began}, ${now}, ${now}, ${now})
    on conflict (account_id, event, subject, channel) do update set code = excluded.code, began_at = excluded.began_at,
      ended_at = excluded.ended_at, sent_at = excluded.sent_at, due_at = excluded.due_at, tries = 0, problem = null,
      claimed_by = null
    where t.ended_at < excluded.began_at`);
}
