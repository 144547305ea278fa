/** Questions about follow-ups. */
import { as, columns, figures, question } from './question.ts';

/** Joins the first message, which describes the problem, and the last one if it is a different message. */
export const NOTES = `
left join lateral (
  select m.note from safety.followup_messages m
  where m.account_id = $1 and m.followup_id = o.id order by m.position limit 1
) first on true
left join lateral (
  select m.note, m.user_id, m.position, (m.sent_at at time zone safety.reporting_timezone($1))::date as sent_on
  from safety.followup_messages m
  where m.account_id = $1 and m.followup_id = o.id order by m.position desc limit 1
) last on last.position > 1
left join safety.users said on said.account_id = $1 and said.id = last.user_id`;
export const NOTE_COLUMNS =
  'first.note as first_note, last.note as last_note, last.sent_on as last_on, last.user_id as last_by_id, said.name as last_by_name';
export const notes = {
  first_note: as.textOrNull,
  last_note: as.textOrNull,
  last_on: as.dayOrNull,
  last_by_id: as.textOrNull,
  last_by_name: as.textOrNull,
};

// A time that is still to come, from a clock that is ahead or in another unit, is in no past period.
export const FOLLOWUP_QUESTIONS = {
  /** How many are open, overdue and closed now? */
  followupsNow: question({ status: as.text, followups: as.number })`
select case when is_overdue then 'overdue' when is_open then 'open' when is_open is null then 'unknown' else 'closed' end as status,
  count(*) as followups
from safety.followup_overview
where account_id = $1
group by 1
order by 1`,

  /** How many were open, overdue and closed a week ago? */
  followupsWeekAgo: question({ status: as.text, followups: as.number })`
select status, followups
from safety.followup_daily
where account_id = $1 and days_ago = 7
order by status`,

  /** How many were raised and closed in the last seven days, how many of them in time, and how many fall due in the next seven? */
  lastWeek: figures({ raised: as.number, closed: as.number, in_time: as.number, due: as.number })`
select count(*) filter (where created_on between safety.reporting_today($1) - 6 and safety.reporting_today($1)) as raised,
  count(*) filter (where resolved_on between safety.reporting_today($1) - 6 and safety.reporting_today($1)) as closed,
  count(*) filter (where resolved_on between safety.reporting_today($1) - 6 and safety.reporting_today($1) and closed_in_time) as in_time,
  count(*) filter (where is_open and days_until_due between 0 and 6) as due
from safety.followup_overview
where account_id = $1`,

  /** How many that were closed are open again since the last seven days? */
  reopenedLately: figures({ reopened: as.number })`
select count(distinct e.followup_id) as reopened
from safety.followup_events e
join safety.followups f on f.account_id = $1 and f.id = e.followup_id
where e.account_id = $1 and e.event = 'reopened' and f.is_open
  and e.occurred_on between safety.reporting_today($1) - 6 and safety.reporting_today($1)`,

  /** What share of those with a due day was closed in time in the last thirty days, and in the thirty before? */
  closedLately: figures({
    closed: as.number,
    in_time: as.number,
    closed_before: as.number,
    in_time_before: as.number,
  })`
select count(*) filter (where resolved_on > safety.reporting_today($1) - 30) as closed,
  count(*) filter (where resolved_on > safety.reporting_today($1) - 30 and closed_in_time) as in_time,
  count(*) filter (where resolved_on <= safety.reporting_today($1) - 30) as closed_before,
  count(*) filter (where resolved_on <= safety.reporting_today($1) - 30 and closed_in_time) as in_time_before
from safety.followup_overview
where account_id = $1 and closed_in_time is not null
  and resolved_on between safety.reporting_today($1) - 59 and safety.reporting_today($1)`,

  /** What share of those with a due day was closed in time, by month of closing? */
  closedInTime: question({ month: as.day, closed: as.number, in_time: as.number })`
select date_trunc('month', resolved_on)::date as month, count(*) as closed, count(*) filter (where closed_in_time) as in_time
from safety.followup_overview
where account_id = $1 and closed_in_time is not null
  and resolved_on between (date_trunc('month', safety.reporting_today($1)) - interval '23 months')::date
    and safety.reporting_today($1)
group by 1
order by 1`,

  /** How did the backlog move over the last year? */
  backlogByDay: question({ date: as.day, status: as.text, followups: as.number })`
select date, status, followups
from safety.followup_daily
where account_id = $1 and days_ago < 365 and status in ('open', 'overdue')
order by date, status`,

  /** For how long have they been overdue? */
  overdueByAge: question({ age: as.number, overdue: as.number, oldest_due_on: as.day })`
select case when days_overdue <= 7 then 1 when days_overdue <= 30 then 2 when days_overdue <= 90 then 3 else 4 end as age,
  count(*) as overdue, min(due_on) as oldest_due_on
from safety.followup_overview
where account_id = $1 and is_overdue
group by 1
order by 1`,

  /** Who has the most overdue follow-ups? */
  overdueByAssignee: question({
    ...columns.assignee,
    overdue: as.number,
    over_a_month: as.number,
    oldest_due_on: as.day,
    field_offices: as.textOrNull,
    supervisor_name: as.textOrNull,
  })`
select assignee_id, assignee_name, count(*) as overdue,
  count(*) filter (where days_overdue > 30) as over_a_month, min(due_on) as oldest_due_on,
  min(field_offices) as field_offices, min(supervisor_name) as supervisor_name
from safety.followup_overview
where account_id = $1 and is_overdue
group by 1, 2
order by overdue desc, oldest_due_on, 1 limit 10`,

  /** How many people have overdue follow-ups, and how many of these have no assignee? */
  peopleWithOverdue: figures({ people: as.number, unassigned: as.number })`
select count(distinct assignee_id) as people, count(*) filter (where assignee_id is null) as unassigned
from safety.followup_overview
where account_id = $1 and is_overdue`,

  /** Which are longest overdue, and what was said last? */
  longestOverdue: question({
    ...columns.followup,
    ...columns.form,
    ...columns.assignee,
    due_on: as.day,
    days_overdue: as.number,
    ...notes,
  })`
select o.id, o.response_id, o.form_id, o.form_label, o.assignee_id, o.assignee_name, o.due_on, o.days_overdue, ${NOTE_COLUMNS}
from (
  select account_id, id, response_id, form_id, form_label, assignee_id, assignee_name, due_on, days_overdue
  from safety.followup_overview
  where account_id = $1 and is_overdue
  order by due_on, id limit 10
) o${NOTES}
order by o.due_on, o.id`,

  /** How long does it take to close one, by month of creation, and how many of the month are still open? */
  timeToCloseByMonth: question({
    month: as.day,
    raised: as.number,
    still_open: as.number,
    median_days: as.numberOrNull,
  })`
select date_trunc('month', created_on)::date as month, count(*) as raised, count(*) filter (where is_open) as still_open,
  percentile_cont(0.5) within group (order by days_to_resolve) as median_days
from safety.followup_overview
where account_id = $1 and created_on <= safety.reporting_today($1)
group by 1
order by 1`,

  /** Which forms raise the most follow-ups, and how long do theirs take to close? */
  timeToCloseByForm: question({
    ...columns.form,
    raised: as.number,
    still_open: as.number,
    median_days: as.numberOrNull,
    slowest_tenth_days: as.numberOrNull,
  })`
select form_id, form_label, count(*) as raised, count(*) filter (where is_open) as still_open,
  percentile_cont(0.5) within group (order by days_to_resolve) as median_days,
  percentile_cont(0.9) within group (order by days_to_resolve) as slowest_tenth_days
from safety.followup_overview
where account_id = $1
group by 1, 2
order by raised desc, 1 limit 10`,

  /** Which open ones were handed on most often, and what was said last? */
  mostHandedOn: question({
    ...columns.followup,
    ...columns.form,
    ...columns.assignee,
    reassignment_count: as.number,
    due_on: as.dayOrNull,
    ...notes,
  })`
select o.id, o.response_id, o.form_id, o.form_label, o.assignee_id, o.assignee_name, o.reassignment_count, o.due_on, ${NOTE_COLUMNS}
from (
  select account_id, id, response_id, form_id, form_label, assignee_id, assignee_name, reassignment_count, due_on
  from safety.followup_overview
  where account_id = $1 and is_open and reassignment_count > 1
  order by reassignment_count desc, due_on, id limit 5
) o${NOTES}
order by o.reassignment_count desc, o.due_on, o.id`,
};
