import { z } from 'zod';
import { day, dayOrNull, number, numberOrNull, question, text, textOrNull } from '../question.ts';

export const followupsNow = question(
  'How many are open, overdue and closed today?',
  `
select status, followups
from safety.followup_daily
where account_id = $1 and date = safety.reporting_today($1)
order by status`,
  z.object({ status: text, followups: number }),
);

export const backlogByDay = question(
  'How did the backlog move over the last year?',
  `
select date, status, followups
from safety.followup_daily
where account_id = $1 and date > safety.reporting_today($1) - 365 and status in ('open', 'overdue')
order by date, status`,
  z.object({ date: day, status: text, followups: number }),
);

export const overdueByAge = question(
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
);

export const overdueByAssignee = question(
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
);

export const timeToCloseByMonth = question(
  'How long does it take to close one, by month of creation?',
  `
select date_trunc('month', created_at at time zone safety.reporting_timezone($1))::date as month, count(*) as closed,
  percentile_cont(0.5) within group (order by days_to_resolve) as median_days
from safety.followup_overview
where account_id = $1 and days_to_resolve is not null
group by 1
order by 1`,
  z.object({ month: day, closed: number, median_days: number }),
);

export const timeToCloseByForm = question(
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
);

export const mostHandedOn = question(
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
);
