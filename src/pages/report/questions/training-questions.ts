/** Questions about trainings. */
import { as, columns, question } from './question.ts';

export const TRAINING_QUESTIONS = {
  /** How is the workforce trained? */
  trainingNow: question({ status: as.textOrNull, employees: as.number, average_percent: as.numberOrNull })`
select status, count(*) as employees, round(avg(percent_complete), 1) as average_percent
from safety.training_compliance
where account_id = $1
group by 1
order by 2 desc`,

  /** How did compliance move, day by day? */
  trainingByDay: question({ date: as.day, status: as.text, employees: as.number })`
select date, status, employees
from safety.training_status_daily
where account_id = $1 and days_ago < 365
order by date, status`,

  /** How many trainings lapse in the next 7, 30, 60 and 90 days? */
  lapsing: question({ days: as.number, trainings: as.number, employees: as.number, required: as.number })`
select w.days, count(e.training_id) as trainings, count(distinct e.user_id) as employees,
  count(e.training_id) filter (where e.is_required is not false) as required
from (values (7), (30), (60), (90)) as w (days)
left join safety.training_matrix e on e.account_id = $1 and e.days_until_expiry between 0 and w.days - 1
group by 1
order by 1`,

  /** How many lapse in each of the next weeks? */
  lapsingByWeek: question({ week: as.day, trainings: as.number })`
select expires_on - (extract(isodow from expires_on)::int - 1) as week, count(*) as trainings
from safety.training_matrix
where account_id = $1 and days_until_expiry between 0 and 89
group by 1
order by 1`,

  /** Which trainings lapse next, and whose? */
  lapsingNext: question({
    ...columns.employee,
    ...columns.training,
    expires_on: as.day,
    days_until_expiry: as.number,
    is_required: as.booleanOrNull,
  })`
select user_id, user_name, training_id, training_label, expires_on, days_until_expiry, is_required
from safety.training_matrix
where account_id = $1 and days_until_expiry between 0 and 89
order by expires_on, user_id, training_id limit 10`,

  /** Which people lack the most required trainings, and which ones? */
  gapsByEmployee: question({ ...columns.employee, lacking: as.number, trainings: as.text })`
select user_id, user_name, count(*) as lacking, string_agg(training_label, ', ' order by training_label) as trainings
from safety.training_matrix
where account_id = $1 and is_required and state in ('missing', 'expired')
group by 1, 2
order by lacking desc, user_name, 1 limit 10`,

  /** Which required trainings do the most employees lack? */
  gapsByTraining: question({
    ...columns.training,
    needed_by: as.number,
    missing: as.number,
    expired: as.number,
  })`
select training_id, training_label, count(*) as needed_by, count(*) filter (where state = 'missing') as missing,
  count(*) filter (where state = 'expired') as expired
from safety.training_matrix
where account_id = $1 and is_required
group by 1, 2
having count(*) filter (where state in ('missing', 'expired')) > 0
order by count(*) filter (where state in ('missing', 'expired')) desc, 2 limit 10`,
};
