/** The figures of the report's first screen, and how they moved. */
import * as z from 'zod';
import { fellDue, IS_EXPIRED, OPEN } from './lists.ts';
import { bind, HOLDER, ofEquipment, ofPeople, type Readable, type Scope, TODAY } from './statement.ts';

/** PostgreSQL sends `bigint` and `numeric` as text. */
const count = z.coerce.number();

// A day that is still to come, by a clock that is ahead, is in no past period.
const LAST_30 = `between ${TODAY} - 29 and ${TODAY}`;
const LAST_7 = `between ${TODAY} - 6 and ${TODAY}`;
const FOLLOWUPS = `from safety.followup_overview o where o.account_id = $1 and ${ofPeople(HOLDER)}`;

const FIGURES = z.record(
  z.enum([
    ...(['followups', 'open', 'overdue', 'due_in_a_week', 'raised', 'reopened', 'closed'] as const),
    ...(['closed_with_due_day', 'closed_in_time', 'fell_due', 'done_in_time'] as const),
    ...(['with_leavers', 'leavers', 'needing_training', 'compliant', 'leavers_in_training'] as const),
    ...(['in_service', 'expired_equipment', 'expired_inspections', 'inspections_due_in_a_week'] as const),
    ...(['inspections_fell_due', 'inspections_in_time'] as const),
  ]),
  count,
);

/** Each has one row. */
const FIGURES_SQL = [
  `select count(*) as followups from safety.followups o where o.account_id = $1 and o._deleted_at is null and ${ofPeople(HOLDER)}`,
  `select count(*) as open, count(*) filter (where o.is_overdue) as overdue,
  count(*) filter (where o.days_until_due between 0 and 6) as due_in_a_week${OPEN}`,
  `select count(*) as raised ${FOLLOWUPS} and o.created_at > now() - interval '9 days' and o.created_on ${LAST_7}`,
  `select count(distinct s.id) as reopened from safety.followup_states s
join safety.followup_overview o on o.account_id = s.account_id and o.id = s.id and o.is_open
where s.account_id = $1 and s.is_open is false and s.valid_to > now() - interval '9 days'
  and (s.valid_to at time zone safety.reporting_timezone($1))::date ${LAST_7} and ${ofPeople(HOLDER)}`,
  `select count(*) filter (where o.resolved_on ${LAST_7}) as closed, count(o.closed_in_time) as closed_with_due_day,
  count(*) filter (where o.closed_in_time) as closed_in_time
${FOLLOWUPS} and o.resolved_at > now() - interval '32 days' and o.resolved_on ${LAST_30}`,
  `select count(*) as fell_due, count(*) filter (where d.done_in_time) as done_in_time${fellDue(30)}`,
  `select count(*) as with_leavers, count(distinct p.user_id) as leavers from safety.people p
join (select ${HOLDER} as user_id${OPEN}) h on h.user_id = p.user_id
where p.account_id = $1 and p.is_active is false`,
  `select count(*) filter (where c.is_active is not false) as needing_training,
  count(*) filter (where c.is_active is not false and c.is_compliant) as compliant, count(*) filter (where c.is_active is false) as leavers_in_training
from safety.training_compliance c where c.account_id = $1 and c.is_compliant is not null and ${ofPeople('c.user_id')}`,
  `select count(*) as in_service, count(*) filter (where e.status = 'expired') as expired_equipment
from safety.equipment_overview e where e.account_id = $1 and e.is_in_service and ${ofEquipment('e.id')}`,
  `select count(*) filter (where ${IS_EXPIRED}) as expired_inspections,
  count(*) filter (where i.days_until_expiry between 0 and 6 and not ${IS_EXPIRED}) as inspections_due_in_a_week
from safety.equipment_inspections i where i.account_id = $1 and i.is_in_service and ${ofEquipment('i.equipment_id')}`,
  `select count(d.done_in_time) as inspections_fell_due, count(*) filter (where d.done_in_time) as inspections_in_time
from safety.due_inspections d where d.account_id = $1 and ${ofEquipment('d.equipment_id')} and d.due_on ${LAST_30}`,
];

/** Training and equipment are not counted by area. */
const TRENDS = {
  followupsByDay: {
    columns: { date: z.string(), open: count, overdue: count },
    sql: `select date, coalesce(sum(followups) filter (where status in ('open', 'overdue')), 0) as open,
  coalesce(sum(followups) filter (where status = 'overdue'), 0) as overdue
from safety.followup_daily_by_assignee
where account_id = $1 and days_ago < 365 and ${ofPeople('assignee_id')}
group by 1
order by 1`,
  },
  trainingByDay: {
    columns: { date: z.string(), compliant: count, needing: count },
    sql: `select date, sum(employees) filter (where status in ('active', 'expiring')) as compliant, sum(employees) as needing
from safety.training_status_daily
where account_id = $1 and days_ago < 365 and status in ('active', 'expiring', 'incomplete') and $2::text[] is null
group by 1
having sum(employees) > 0
order by 1`,
  },
  equipmentByDay: {
    columns: { date: z.string(), expired: count },
    sql: `select date, in_service as expired
from safety.equipment_status_daily
where account_id = $1 and days_ago < 365 and status = 'expired' and $3::text[] is null
order by 1`,
  },
};

type Trends = {
  readonly [Name in keyof typeof TRENDS]: readonly z.output<z.ZodObject<(typeof TRENDS)[Name]['columns']>>[];
};

export async function readFigures(db: Readable, scope: Scope) {
  const rows: unknown[] = [];
  for (const one of FIGURES_SQL) rows.push(...(await db.execute(bind(one, scope))));
  return FIGURES.parse(Object.assign({}, ...rows));
}

export async function readTrends(db: Readable, scope: Scope): Promise<Trends> {
  const trends: Record<string, unknown> = {};
  for (const [name, { columns, sql: asked }] of Object.entries(TRENDS))
    trends[name] = z.array(z.object(columns)).parse([...(await db.execute(bind(asked, scope)))]);
  return trends as Trends;
}
