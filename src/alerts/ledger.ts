/**
 * Reads and writes `safety_sync.alerts`, by which several workers tell everything once: a worker claims what is due, tells
 * it, and records that it did. A claim ends by itself, so that what a dead worker had claimed is told by another one.
 *
 * Times are ms by the database's clock and come with the statement: where tables are distributed each node has its own.
 */
import { type SQL, sql } from 'drizzle-orm';
import { toMs } from '../shared/time.ts';
import type { Queryable } from '../database/connection.ts';
import { type AlertChannel, type AlertEvent, alerts, type Claim } from '../database/control-tables.ts';
import { toArrayLiteral } from '../database/array-literal.ts';
import { instant } from '../database/sql-names.ts';

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
  /** null: it lasts. */
  readonly endedMs: number | null;
  /** null: its beginning was not told. */
  readonly toldMs: number | null;
  /** null: nothing is to be told. */
  readonly dueMs: number | null;
  readonly tries: number;
  readonly problem: string | null;
  /** What to do, where that is not by event and code; it is in no table. */
  readonly advice?: string | undefined;
}

/** What has begun. */
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

/** When it was observed, and what time it is. */
interface Observed {
  /** What was observed is from then: it says nothing about what changed later. */
  readonly asOfMs: number;
  readonly nowMs: number;
}

/** Names of accounts and events have no line break in them. */
export const textOfKey = ({ accountId, event, subject }: AlertKey): string =>
  [accountId, event, subject].join('\n');

/** Those rows of a channel. The accounts alone, because by them the rows are found where they are distributed. */
function areThese({ channel, keys }: AlertsOfChannel): SQL {
  const accounts = toArrayLiteral([...new Set(keys.map(({ accountId }) => accountId))]);
  return sql`account_id = any (${accounts}::text[]) and channel = ${channel}
    and account_id || E'\\n' || event || E'\\n' || subject = any (${toArrayLiteral(keys.map(textOfKey))}::text[])`;
}

const isFree = (nowMs: number): SQL => sql`(claimed_until is null or claimed_until <= ${instant(nowMs)})`;

/** As they are: where tables are distributed `returning` takes no functions of time. */
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

/** What lasts or has to be told; what is over and told is of no interest. */
export async function readAlerts(db: Queryable, accountIds: readonly string[]): Promise<AlertRow[]> {
  const rows = await db.execute<Found>(sql`select ${COLUMNS} from ${alerts}
    where account_id = any (${toArrayLiteral(accountIds)}::text[]) and (ended_at is null or due_at is not null)`);
  return rows.map(toAlertRow);
}

/** An alert of the same key that is over and told gives its row to the new one. */
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

/** What was about to be told as over has begun again before it was: nobody needs to hear of that. */
export async function resumeAlerts(
  db: Queryable,
  these: AlertsOfChannel,
  { asOfMs, nowMs }: Observed,
): Promise<void> {
  if (these.keys.length === 0) return;
  await db.execute(sql`update ${alerts} set ended_at = null, due_at = case when told_at is null then due_at end
    where ${areThese(these)} and ended_at <= ${instant(asOfMs)} and due_at is not null and ${isFree(nowMs)}`);
}

/** What ended before somebody tried to tell it is told to nobody; all other is told as over. */
export async function endAlerts(
  db: Queryable,
  these: AlertsOfChannel,
  { asOfMs, nowMs }: Observed,
): Promise<void> {
  if (these.keys.length === 0) return;
  const now = instant(nowMs);
  await db.execute(sql`update ${alerts} set ended_at = ${now}, due_at = case
      when told_at is not null or tries > 0 or claimed_until > ${now} then ${now} end
    where ${areThese(these)} and ended_at is null and began_at < ${instant(asOfMs)}`);
}

/** Of what has not been told: not before then. */
export async function postponeAlerts(db: Queryable, these: AlertsOfChannel, dueMs: number): Promise<void> {
  if (these.keys.length === 0) return;
  await db.execute(sql`update ${alerts} set due_at = ${instant(dueMs)}
    where ${areThese(these)} and told_at is null and ended_at is null and due_at < ${instant(dueMs)}`);
}

/** What is due and nobody is telling; of several workers that ask at once one gets it. */
export async function claimAlerts(
  db: Queryable,
  these: AlertsOfChannel,
  { owner, untilMs, nowMs }: Claim & Pick<Observed, 'nowMs'>,
): Promise<AlertRow[]> {
  if (these.keys.length === 0) return [];
  const rows = await db.execute<Found>(sql`update ${alerts}
    set claimed_by = ${owner}, claimed_until = ${instant(untilMs)}
    where ${areThese(these)} and due_at <= ${instant(nowMs)} and ${isFree(nowMs)} returning ${COLUMNS}`);
  return rows.map(toAlertRow);
}

const isOurs = ({ owner, untilMs }: Claim): SQL =>
  sql`claimed_by = ${owner} and claimed_until = ${instant(untilMs)}`;

/**
 * It was told as it was when it was claimed. What has ended since then is due again; of what was claimed as over nothing is
 * left to tell.
 */
export async function recordTold(
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
      where ${areThese({ channel: first.channel, keys })} and ${isOurs(claim)}`);
  }
}

/** It could not be told: tried again then, by whoever is first. */
export async function recordNotTold(
  db: Queryable,
  claimed: readonly AlertRow[],
  { problem, againMs, ...claim }: Claim & { readonly problem: string; readonly againMs: number },
): Promise<void> {
  const [first] = claimed;
  if (first === undefined) return;
  await db.execute(sql`update ${alerts} set due_at = ${instant(againMs)}, tries = tries + 1, problem = ${problem},
      claimed_by = null, claimed_until = null
    where ${areThese({ channel: first.channel, keys: claimed })} and ${isOurs(claim)}`);
}

/**
 * An outage of the database that was told while nothing could be written, now that it is over: so that of all workers which
 * told its beginning one tells its end. Whoever records the same outage later changes nothing.
 */
export async function recordToldOutage(
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
