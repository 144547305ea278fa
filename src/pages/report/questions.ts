/** What the report asks the warehouse's views: each question with its SQL, and what a row of its answer is. */
import { sql } from 'drizzle-orm';
import { z } from 'zod';
import type { Queryable } from '../../database/connection.ts';

export interface Question<Row> {
  /** As a person asks it. */
  readonly title: string;
  /** `$1` is the account. Where docs/questions.md asks the same, this is its SQL, held to one account; time zone and today are then worked out once, not row by row. */
  readonly sql: string;
  readonly row: z.ZodType<Row>;
}

function question<Row>(title: string, text: string, row: z.ZodType<Row>): Question<Row> {
  return { title, sql: text.trim(), row };
}

/** `bigint` and `numeric` come as text. */
const number = z.union([z.number(), z.string().transform(Number)]);
const numberOrNull = z.union([z.null(), number]);
const text = z.string();
const textOrNull = z.string().nullable();
/** `2026-03-01`, a day of the account's reporting time zone. */
const day = z.string();
const dayOrNull = z.string().nullable();

export async function ask<Row>(
  db: Pick<Queryable, 'execute'>,
  { sql: statement, row }: Question<Row>,
  accountId: string,
): Promise<Row[]> {
  const parts = statement.split('$1').map((part) => sql.raw(part));
  const rows = await db.execute(sql.join(parts, sql`${accountId}`));
  return z.array(row).parse([...rows]);
}

export const QUESTIONS = {
  followupsNow: question(
    'How many are open, overdue and closed today?',
    `
select status, followups
from safety.followup_daily
where account_id = $1 and date = safety.reporting_today($1)
order by status`,
    z.object({ status: text, followups: number }),
  ),

  backlogByDay: question(
    'How did the backlog move over the last year?',
    `
select date, status, followups
from safety.followup_daily
where account_id = $1 and date > safety.reporting_today($1) - 365 and status in ('open', 'overdue')
order by date, status`,
    z.object({ date: day, status: text, followups: number }),
  ),

  overdueByAge: question(
    'For how long have they been overdue?',
    `
select case when o.days <= 7 then 1 when o.days <= 30 then 2 when o.days <= 90 then 3 else 4 end as age, count(*) as overdue,
  min(o.due_on) as oldest_due_on
from (
  select due_on, safety.reporting_today($1) - due_on as days
  from safety.followup_overview
  where account_id = $1 and is_overdue
) o
group by 1
order by 1`,
    z.object({ age: number, overdue: number, oldest_due_on: day }),
  ),

  overdueByAssignee: question(
    'Who has the most overdue follow-ups?',
    `
select assignee_id, assignee_name, count(*) as overdue,
  count(*) filter (where due_on < safety.reporting_today($1) - 30) as over_a_month, min(due_on) as oldest_due_on
from safety.followup_overview
where account_id = $1 and is_overdue
group by 1, 2
order by overdue desc, oldest_due_on, 1 limit 10`,
    z.object({
      assignee_id: textOrNull,
      assignee_name: textOrNull,
      overdue: number,
      over_a_month: number,
      oldest_due_on: day,
    }),
  ),

  timeToCloseByMonth: question(
    'How long does it take to close one, by month of creation?',
    `
select date_trunc('month', created_at at time zone safety.reporting_timezone($1))::date as month, count(*) as closed,
  percentile_cont(0.5) within group (order by days_to_resolve) as median_days
from safety.followup_overview
where account_id = $1 and days_to_resolve is not null
group by 1
order by 1`,
    z.object({ month: day, closed: number, median_days: number }),
  ),

  timeToCloseByForm: question(
    'Which forms raise the most, and how long do theirs take to close?',
    `
select form_id, count(*) as raised, count(*) filter (where is_open) as still_open,
  percentile_cont(0.5) within group (order by days_to_resolve) as median_days,
  percentile_cont(0.9) within group (order by days_to_resolve) as slowest_tenth_days
from safety.followup_overview
where account_id = $1
group by 1
order by raised desc, 1 limit 10`,
    z.object({
      form_id: textOrNull.or(number.transform(String)),
      raised: number,
      still_open: number,
      median_days: numberOrNull,
      slowest_tenth_days: numberOrNull,
    }),
  ),

  mostHandedOn: question(
    'Which were handed on most often?',
    `
select id, assignee_id, assignee_name, reassignment_count, is_open, due_on
from safety.followup_overview
where account_id = $1 and reassignment_count > 1
order by reassignment_count desc, id limit 10`,
    z.object({
      id: text,
      assignee_id: textOrNull,
      assignee_name: textOrNull,
      reassignment_count: number,
      is_open: z.boolean().nullable(),
      due_on: dayOrNull,
    }),
  ),

  trainingNow: question(
    'How is the workforce trained?',
    `
select status, count(*) as employees, round(avg(percent_complete), 1) as average_percent
from safety.training_compliance
where account_id = $1
group by 1
order by 2 desc`,
    z.object({ status: textOrNull, employees: number, average_percent: numberOrNull }),
  ),

  trainingByDay: question(
    'How did compliance move, day by day?',
    `
select date, status, employees
from safety.training_status_daily
where account_id = $1 and date > safety.reporting_today($1) - 365
order by date, status`,
    z.object({ date: day, status: text, employees: number }),
  ),

  lapsing: question(
    'How many trainings lapse in the next 30, 60 and 90 days?',
    `
select w.days, count(e.training_id) as trainings, count(distinct e.user_id) as employees,
  count(e.training_id) filter (where e.is_required) as required
from (values (30), (60), (90)) as w (days)
left join safety.training_expiry e on e.account_id = $1 and e.days_until_expiry between 0 and w.days
group by 1
order by 1`,
    z.object({ days: number, trainings: number, employees: number, required: number }),
  ),

  lapsingByWeek: question(
    'How many lapse in each of the next weeks?',
    `
select days_until_expiry / 7 as week, count(*) as trainings
from safety.training_expiry
where account_id = $1 and days_until_expiry between 0 and 90
group by 1
order by 1`,
    z.object({ week: number, trainings: number }),
  ),

  lapsingNext: question(
    'Whose training expires next?',
    `
select user_id, user_name, training_id, expires_on, days_until_expiry
from safety.training_expiry
where account_id = $1 and days_until_expiry between 0 and 90
order by expires_on, user_id, training_id limit 10`,
    z.object({
      user_id: text,
      user_name: textOrNull,
      training_id: number,
      expires_on: day,
      days_until_expiry: number,
    }),
  ),

  equipmentByType: question(
    'How does each type of equipment in service stand?',
    `
select equipment_type_id, coalesce(status, 'unknown') as status, count(*) as equipment
from safety.equipment
where account_id = $1 and _deleted_at is null and is_in_service
group by 1, 2
order by 1, 2`,
    z.object({ equipment_type_id: textOrNull, status: text, equipment: number }),
  ),

  equipmentByDay: question(
    'How many were in each status, day by day?',
    `
select date, status, in_service
from safety.equipment_status_daily
where account_id = $1 and date > safety.reporting_today($1) - 365
order by date, status`,
    z.object({ date: day, status: text, in_service: number }),
  ),

  longestExpired: question(
    'Which inspections of equipment in service are longest expired?',
    `
select equipment_id, title, serial_number, equipment_type_id, schedule_id, -days_until_expiry as days_expired,
  last_completed_at
from safety.equipment_inspections
where account_id = $1 and is_in_service and status = 'expired' and days_until_expiry <= 0
order by days_until_expiry, equipment_id, schedule_id limit 15`,
    z.object({
      equipment_id: text,
      title: textOrNull,
      serial_number: textOrNull,
      equipment_type_id: textOrNull,
      schedule_id: text,
      days_expired: number,
      last_completed_at: textOrNull,
    }),
  ),

  documentsNow: question(
    'How many documents are there, and how many of their newest versions are approved?',
    `
select count(*) as documents, count(*) filter (where approved_at is null) as not_approved,
  count(*) filter (where created_at < now() - interval '2 years') as older_than_two_years
from safety.current_resource_versions
where account_id = $1`,
    z.object({ documents: number, not_approved: number, older_than_two_years: number }),
  ),

  notApproved: question(
    'Which documents are not approved, longest first?',
    `
select resource_id, title, version, creator_id, creator_name,
  (created_at at time zone safety.reporting_timezone($1))::date as created_on
from safety.current_resource_versions
where account_id = $1 and approved_at is null
order by created_at, resource_id limit 15`,
    z.object({
      resource_id: text,
      title: textOrNull,
      version: textOrNull,
      creator_id: textOrNull,
      creator_name: textOrNull,
      created_on: day.nullable(),
    }),
  ),
};
