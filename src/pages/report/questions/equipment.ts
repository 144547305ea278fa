import { z } from 'zod';
import { day, number, question, text, textOrNull } from '../question.ts';

export const equipmentByType = question(
  'How does each type of equipment in service stand?',
  `
select equipment_type_id, coalesce(status, 'unknown') as status, count(*) as equipment
from safety.equipment
where account_id = $1 and _deleted_at is null and is_in_service
group by 1, 2
order by 1, 2`,
  z.object({ equipment_type_id: textOrNull, status: text, equipment: number }),
);

export const equipmentByDay = question(
  'How many were in each status, day by day?',
  `
select date, status, in_service
from safety.equipment_status_daily
where account_id = $1 and date > safety.reporting_today($1) - 365
order by date, status`,
  z.object({ date: day, status: text, in_service: number }),
);

export const longestExpired = question(
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
);
