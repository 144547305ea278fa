/**
 * Reads and writes `safety_sync.alerts`, through which several workers send each alert once: a worker claims the rows that
 * are due, sends them, and records the result. A claim expires, so that another worker sends the alerts that a dead worker
 * had claimed.
 *
 * Times are ms by the database's clock and are passed as parameters, because the nodes of a distributed table each have a
 * clock of their own.
 */
import { type SQL, sql } from 'drizzle-orm';
import { toMs } from '../../shared/time.ts';
import type { Queryable } from '../../engine/database/connection.ts';
import {
  type AlertChannel,
  type AlertEvent,
  alerts,
  type Claim,
} from '../../engine/control/control-tables.ts';
import { toArrayLiteral } from '../../engine/database/array-literal.ts';
import { instant } from '../../engine/database/sql-names.ts';

export interface AlertKey {
  readonly accountId: string;
  readonly event: AlertEvent;
  readonly subject: string;
}

export interface AlertRow extends AlertKey {
  readonly channel: AlertChannel;
  readonly code: string | null;
  readonly detail: string | null;
  readonly beganMs: number;
  /** null: the condition lasts. */
  readonly endedMs: number | null;
  /** When its beginning was sent; null: not yet. */
  readonly toldMs: number | null;
  /** When to send next; null: no message is due. */
  readonly dueMs: number | null;
  readonly tries: number;
  readonly problem: string | null;
  /** Advice, when it does not follow from event and code. Kept in memory only. */
  readonly advice?: string | undefined;
}

/** An alert that has begun. */
export interface NewAlert extends AlertKey {
  readonly channel: AlertChannel;
  readonly code: string | null;
  readonly detail: string | null;
  readonly dueMs: number;
}

interface AlertsOfChannel {
  readonly channel: AlertChannel;
  readonly keys: readonly AlertKey[];
}

/** The time of the observation, and the current time. */
interface Observed {
  /** Rows that changed later are not affected by the observation. */
  readonly asOfMs: number;
  readonly nowMs: number;
}

/** A line break separates the fields, because names of accounts and events have none. */
export const textOfKey = ({ accountId, event, subject }: AlertKey): string =>
  [accountId, event, subject].join('\n');

/** Matches these rows of a channel. Filters by account as well, because accounts are the distribution key. */
function matchesKeys({ channel, keys }: AlertsOfChannel): SQL {
  const accounts = toArrayLiteral([...new Set(keys.map(({ accountId }) => accountId))]);
  return sql`account_id = any (${accounts}::text[]) and channel = ${channel}
    and account_id || E'\\n' || event || E'\\n' || subject = any (${toArrayLiteral(keys.map(textOfKey))}::text[])`;
}

const isFree = (nowMs: number): SQL => sql`(claimed_until is null or claimed_until <= ${instant(nowMs)})`;

/** Bare columns, because `returning` on distributed tables cannot use time functions. */
const COLUMNS = sql.raw(
  'account_id, event, subject, channel, code, detail, tries, problem, began_at, ended_at, told_at, due_at',
);

interface Found extends Record<string, unknown> {
  readonly account_id: string;
  readonly event: AlertEvent;
  readonly subject: string;
  readonly channel: AlertChannel;
  readonly code: string | null;
  readonly detail: string | null;
  readonly tries: number;
  readonly problem: string | null;
  readonly began_at: string;
  readonly ended_at: string | null;
  readonly told_at: string | null;
  readonly due_at: string | null;
}

const toAlertRow = (row: Found): AlertRow => ({
  accountId: row.account_id,
  event: row.event,
  subject: row.subject,
  channel: row.channel,
  code: row.code,
  detail: row.detail,
  beganMs: toMs(row.began_at),
  endedMs: toMs(row.ended_at),
  toldMs: toMs(row.told_at),
  dueMs: toMs(row.due_at),
  tries: row.tries,
  problem: row.problem,
});

/** Returns the alerts that last or have a message due. */
export async function readAlerts(db: Queryable, accountIds: readonly string[]): Promise<AlertRow[]> {
  const rows = await db.execute<Found>(sql`select ${COLUMNS} from ${alerts}
    where account_id = any (${toArrayLiteral(accountIds)}::text[]) and (ended_at is null or due_at is not null)`);
  return rows.map(toAlertRow);
}

/** Inserts alerts. An ended alert with the same key is overwritten once its messages were sent. */
export async function beginAlerts(
  db: Queryable,
  begun: readonly NewAlert[],
  { asOfMs, nowMs }: Observed,
): Promise<void> {
  if (begun.length === 0) return;
  const values = begun
    .toSorted((one, other) => (textOfKey(one) < textOfKey(other) ? -1 : 1))
    .map(
      ({ accountId, event, subject, channel, code, detail, dueMs }) =>
        sql`(${accountId}, ${event}, ${subject}, ${channel}, ${code}, ${detail}, ${instant(asOfMs)}, ${instant(dueMs)})`,
    );
  await db.execute(sql`insert into ${alerts} as t
      (account_id, event, subject, channel, code, detail, began_at, due_at) values ${sql.join(values, sql`, `)}
    on conflict (account_id, event, subject, channel) do update set code = excluded.code, detail = excluded.detail,
      began_at = excluded.began_at, due_at = excluded.due_at, ended_at = null, told_at = null, tries = 0, problem = null
    where t.ended_at <= excluded.began_at and t.due_at is null
      and (t.claimed_until is null or t.claimed_until <= ${instant(nowMs)})`);
}

/** Reopens alerts whose resolution was not sent yet; neither is sent. */
export async function resumeAlerts(
  db: Queryable,
  these: AlertsOfChannel,
  { asOfMs, nowMs }: Observed,
): Promise<void> {
  if (these.keys.length === 0) return;
  await db.execute(sql`update ${alerts} set ended_at = null, due_at = case when told_at is null then due_at end
    where ${matchesKeys(these)} and ended_at <= ${instant(asOfMs)} and due_at is not null and ${isFree(nowMs)}`);
}

/** Resolves alerts. Those never sent are dropped; for the others a resolution is due. */
export async function endAlerts(
  db: Queryable,
  these: AlertsOfChannel,
  { asOfMs, nowMs }: Observed,
): Promise<void> {
  if (these.keys.length === 0) return;
  const now = instant(nowMs);
  await db.execute(sql`update ${alerts} set ended_at = ${now}, due_at = case
      when told_at is not null or tries > 0 or claimed_until > ${now} then ${now} end
    where ${matchesKeys(these)} and ended_at is null and began_at < ${instant(asOfMs)}`);
}

/** Postpones the first message of alerts that were not sent yet. */
export async function postponeAlerts(db: Queryable, these: AlertsOfChannel, dueMs: number): Promise<void> {
  if (these.keys.length === 0) return;
  await db.execute(sql`update ${alerts} set due_at = ${instant(dueMs)}
    where ${matchesKeys(these)} and told_at is null and ended_at is null and due_at < ${instant(dueMs)}`);
}

/** Claims alerts that are due and unclaimed. If several workers claim the same alert, one gets it. */
export async function claimAlerts(
  db: Queryable,
  these: AlertsOfChannel,
  { owner, untilMs, nowMs }: Claim & Pick<Observed, 'nowMs'>,
): Promise<AlertRow[]> {
  if (these.keys.length === 0) return [];
  const rows = await db.execute<Found>(sql`update ${alerts}
    set claimed_by = ${owner}, claimed_until = ${instant(untilMs)}
    where ${matchesKeys(these)} and due_at <= ${instant(nowMs)} and ${isFree(nowMs)} returning ${COLUMNS}`);
  return rows.map(toAlertRow);
}

const isOurs = ({ owner, untilMs }: Claim): SQL =>
  sql`claimed_by = ${owner} and claimed_until = ${instant(untilMs)}`;

/** Marks claimed alerts as sent. If one was resolved meanwhile, its resolution becomes due. */
export async function recordSent(
  db: Queryable,
  claimed: readonly AlertRow[],
  claim: Claim & Pick<Observed, 'nowMs'>,
): Promise<void> {
  const now = instant(claim.nowMs);
  for (const isOver of [false, true]) {
    const keys = claimed.filter(({ endedMs }) => (endedMs !== null) === isOver);
    const [first] = keys;
    if (first === undefined) continue;
    const due = isOver ? sql`null` : sql`case when ended_at is not null then ${now} end`;
    await db.execute(sql`update ${alerts} set told_at = coalesce(told_at, ${now}), due_at = ${due},
        claimed_by = null, claimed_until = null, tries = 0, problem = null
      where ${matchesKeys({ channel: first.channel, keys })} and ${isOurs(claim)}`);
  }
}

/** Releases claimed alerts after a failed attempt; the first worker after `againMs` retries. */
export async function recordNotSent(
  db: Queryable,
  claimed: readonly AlertRow[],
  { problem, againMs, ...claim }: Claim & { readonly problem: string; readonly againMs: number },
): Promise<void> {
  const [first] = claimed;
  if (first === undefined) return;
  await db.execute(sql`update ${alerts} set due_at = ${instant(againMs)}, tries = tries + 1, problem = ${problem},
      claimed_by = null, claimed_until = null
    where ${matchesKeys({ channel: first.channel, keys: claimed })} and ${isOurs(claim)}`);
}

/**
 * Records an outage of the database that was sent while no row could be written, and makes its resolution due. Several
 * workers may have sent its beginning; the resolution is sent once, because recording an outage again changes nothing.
 */
export async function recordOutageSent(
  db: Queryable,
  {
    accountId,
    channel,
    code,
    beganMs,
    nowMs,
  }: Pick<AlertRow, 'accountId' | 'channel' | 'code' | 'beganMs'> & Pick<Observed, 'nowMs'>,
): Promise<void> {
  const [began, now] = [instant(beganMs), instant(nowMs)];
  await db.execute(sql`insert into ${alerts} as t
      (account_id, event, subject, channel, code, began_at, ended_at, told_at, due_at)
    values (${accountId}, 'database_away', '', ${channel}, ${code}, ${began}, ${now}, ${now}, ${now})
    on conflict (account_id, event, subject, channel) do update set code = excluded.code, began_at = excluded.began_at,
      ended_at = excluded.ended_at, told_at = excluded.told_at, due_at = excluded.due_at, tries = 0, problem = null,
      claimed_by = null, claimed_until = null
    where t.ended_at < excluded.began_at`);
}
