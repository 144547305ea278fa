import { z } from 'zod';
import { day, number, numberOrNull, question, text, textOrNull } from '../question.ts';

export const trainingNow = question(
  'How is the workforce trained?',
  `
select status, count(*) as employees, round(avg(percent_complete), 1) as average_percent
from safety.training_compliance
where account_id = $1
group by 1
order by 2 desc`,
  z.object({ status: textOrNull, employees: number, average_percent: numberOrNull }),
);

export const trainingByDay = question(
  'How did compliance move, day by day?',
  `
select date, status, employees
from safety.training_status_daily
where account_id = $1 and date > safety.reporting_today($1) - 365
order by date, status`,
  z.object({ date: day, status: text, employees: number }),
);

export const lapsing = question(
  'How many trainings lapse in the next 30, 60 and 90 days?',
  `
select w.days, count(e.training_id) as trainings, count(distinct e.user_id) as employees,
  count(e.training_id) filter (where e.is_required) as required
from (values (30), (60), (90)) as w (days)
left join safety.training_expiry e on e.account_id = $1 and e.days_until_expiry between 0 and w.days
group by 1
order by 1`,
  z.object({ days: number, trainings: number, employees: number, required: number }),
);

export const lapsingByWeek = question(
  'How many lapse in each of the next weeks?',
  `
select days_until_expiry / 7 as week, count(*) as trainings
from safety.training_expiry
where account_id = $1 and days_until_expiry between 0 and 90
group by 1
order by 1`,
  z.object({ week: number, trainings: number }),
);

export const lapsingNext = question(
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
);
