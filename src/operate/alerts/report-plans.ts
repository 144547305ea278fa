/**
 * Reads and writes `safety_sync.report_plans`: when the report of each account is due next. One of several
 * workers claims it and makes it. The plan does not depend on a running worker: a report that became due
 * while no worker ran is made once, when one runs.
 *
 * Times are ms by the database's clock and come with the statement.
 */
import { type SQL, sql } from 'drizzle-orm';
import type { Queryable } from '../../engine/database/connection.ts';
import { type Claim, reportPlans } from '../../engine/control/control-tables.ts';
import { toArrayLiteral } from '../../engine/database/array-literal.ts';
import { instant } from '../../engine/database/sql-names.ts';

export interface ReportPlan {
  readonly accountId: string;
  /** Cron expression and time zone of the plan. */
  readonly schedule: string;
  readonly dueMs: number;
  readonly tries: number;
}

/** By account. */
export async function readReportPlans(
  db: Queryable,
  accountIds: readonly string[],
): Promise<Map<string, ReportPlan>> {
  const rows = await db.execute<{ account_id: string; schedule: string; due: string; tries: number }>(sql`
    select account_id, schedule, tries, floor(extract(epoch from due_at) * 1000) as due from ${reportPlans}
    where account_id = any (${toArrayLiteral(accountIds)}::text[])`);
  return new Map(
    rows.map(({ account_id: accountId, schedule, tries, due }) => [
      accountId,
      { accountId, schedule, tries, dueMs: Number(due) },
    ]),
  );
}

/** By account, the code with which the newest attempt at its report failed. */
export async function readFailedReports(
  db: Queryable,
  accountIds: readonly string[],
): Promise<Map<string, string>> {
  const rows = await db.execute<{ account_id: string; error_code: string }>(sql`
    select account_id, error_code from ${reportPlans}
    where error_code is not null and account_id = any (${toArrayLiteral(accountIds)}::text[])`);
  return new Map(rows.map((row) => [row.account_id, row.error_code]));
}

/** There was no plan, or it was made for another schedule. */
export async function writeReportPlan(
  db: Queryable,
  { accountId, schedule, dueMs }: Omit<ReportPlan, 'tries'>,
): Promise<void> {
  await db.execute(sql`insert into ${reportPlans} as t (account_id, schedule, due_at)
    values (${accountId}, ${schedule}, ${instant(dueMs)})
    on conflict (account_id) do update set schedule = excluded.schedule, due_at = excluded.due_at, tries = 0,
      claimed_by = null, claimed_until = null, error_code = null
    where t.schedule <> excluded.schedule`);
}

type ClaimOfReport = Claim & { readonly accountId: string; readonly nowMs: number };

/** False: it is no longer due, or another worker has it. */
export async function claimReport(
  db: Queryable,
  { accountId, owner, untilMs, nowMs }: ClaimOfReport,
): Promise<boolean> {
  const rows = await db.execute(sql`update ${reportPlans}
    set claimed_by = ${owner}, claimed_until = ${instant(untilMs)}
    where account_id = ${accountId} and due_at <= ${instant(nowMs)}
      and (claimed_until is null or claimed_until <= ${instant(nowMs)}) returning account_id`);
  return rows.length > 0;
}

const isOurs = ({ accountId, owner, untilMs }: Omit<ClaimOfReport, 'nowMs'>): SQL =>
  sql`account_id = ${accountId} and claimed_by = ${owner} and claimed_until = ${instant(untilMs)}`;

export async function recordReportMade(
  db: Queryable,
  { nextMs, ...claim }: ClaimOfReport & { readonly nextMs: number },
): Promise<void> {
  await db.execute(sql`update ${reportPlans} set due_at = ${instant(nextMs)}, made_at = ${instant(claim.nowMs)},
      claimed_by = null, claimed_until = null, tries = 0, error_code = null
    where ${isOurs(claim)}`);
}

/** Records the failure, and when the next attempt is due. */
export async function recordReportFailed(
  db: Queryable,
  {
    code,
    againMs,
    ...claim
  }: Claim & { readonly accountId: string; readonly code: string; readonly againMs: number },
): Promise<void> {
  await db.execute(sql`update ${reportPlans} set due_at = ${instant(againMs)}, tries = tries + 1, error_code = ${code},
      claimed_by = null, claimed_until = null
    where ${isOurs(claim)}`);
}
