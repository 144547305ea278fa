/** The lists of the report. The page shows their first rows, the files to take along all of them. */
import type { RecordKind } from '../../shared/record-urls.ts';
import { EQUIPMENT_PLACES, PEOPLE_PLACES, RESPONSIBLE } from './area.ts';
import { HOLDER, ofEquipment, ofPeople, TODAY } from './statement.ts';

export interface List {
  /** The name of its sheet: 31 characters at most. */
  readonly title: string;
  /** Its contents, for readers. */
  readonly about: string;
  /** Names come before ids. Columns that end in `_on` hold days, those that end in `id` texts. */
  readonly sql: string;
  /** The record of a row, for its link: the first of these columns with an id. */
  readonly records: readonly (readonly [RecordKind, column: string])[];
  /** Rows that are read for the page. */
  readonly shown: number;
}

/** The service's own word, or the date where the word is older than the day. */
export const IS_EXPIRED = `(i.status = 'expired' and coalesce(i.days_until_expiry, 0) <= 0 or i.days_until_expiry < 0)`;
const EXPIRED = `
from safety.equipment_inspections i
where i.account_id = $1 and i.is_in_service and ${IS_EXPIRED} and ${ofEquipment('i.equipment_id')}`;

const LACKING = `
from safety.training_matrix m
where m.account_id = $1 and m.is_required and m.state in ('missing', 'expired') and ${ofPeople('m.user_id')}`;

export const OPEN = `
from safety.followup_overview o
where o.account_id = $1 and o.is_open and ${ofPeople(HOLDER)}`;

const OPEN_BY_PERSON = `
select ${HOLDER} as user_id, count(*) as open_followups, count(*) filter (where o.is_overdue) as overdue_followups,
  count(*) filter (where o.days_until_due between 0 and 6) as due_in_a_week, min(o.due_on) filter (where o.is_overdue) as oldest_due_on${OPEN}
group by 1`;

/** Follow-ups that fell due in the last days, each with the person responsible. */
export const fellDue = (days: number): string => `
from safety.due_followups d
join safety.followups o on o.account_id = d.account_id and o.id = d.followup_id
where d.account_id = $1 and d.due_on > ${TODAY} - ${days} and d.done_in_time is not null
  and ${ofPeople(HOLDER)}`;

const followupList = (title: string, about: string, when: string, shown: number): List => ({
  title,
  about,
  sql: `
select o.form_label, o.responsible_name, o.due_on, o.days_overdue, o.first_note, o.last_note, o.last_message_on,
  o.field_offices, o.supervisor_name, o.created_on, o.observer_name, o.form_group, o.id, o.response_id, o.form_id,
  o.assignee_id${OPEN}${when}
order by o.due_on, o.id`,
  records: [['followup', 'id']],
  shown,
});

export const LISTS = {
  'expired-inspections': {
    title: 'Expired inspections',
    about: 'Expired inspections of equipment in service, longest expired first.',
    sql: `
select coalesce(x.title, x.equipment_type_label) as title, x.serial_number, x.schedule_label, x.days_expired, e.field_offices,
  e.responsible_name, x.expires_on, x.last_completed_on, x.equipment_type_label, x.line_of_business_label, x.equipment_id,
  x.equipment_type_id, x.schedule_id
from (
  select i.*, -i.days_until_expiry as days_expired${EXPIRED}
) x
join safety.equipment_overview e on e.account_id = $1 and e.id = x.equipment_id
order by x.days_expired desc nulls last, x.equipment_id, x.schedule_id`,
    records: [['equipment', 'equipment_id']],
    shown: 20,
  },
  people: {
    title: 'People',
    about:
      'Everybody, with where and for whom they work, what they have to do now, and their training; those with the most to do come first.',
    sql: `
select p.name as user_name, coalesce(f.overdue_followups, 0) + coalesce(t.trainings, 0) + coalesce(x.inspections, 0) as due_now,
  f.overdue_followups, f.oldest_due_on, t.trainings as lacking_trainings, x.inspections as expired_inspections, f.open_followups,
  f.due_in_a_week, c.is_compliant, c.percent_complete, p.field_office, p.line_of_business, p.job_title, p.supervisor_name,
  p.manager_name, p.is_active, p.user_id
from safety.people p
left join (${OPEN_BY_PERSON}) f on f.user_id = p.user_id
left join (select m.user_id, count(*) as trainings${LACKING} group by 1) t on t.user_id = p.user_id
left join (
  select r.user_id, count(*) as inspections from (${RESPONSIBLE}) r
  join (select i.equipment_id${EXPIRED}) i on i.equipment_id = r.equipment_id group by 1
) x on x.user_id = p.user_id
left join safety.training_compliance c on c.account_id = $1 and c.user_id = p.user_id
where p.account_id = $1 and ${ofPeople('p.user_id')}
order by due_now desc, f.oldest_due_on, user_name, p.user_id`,
    records: [['employee', 'user_id']],
    shown: 40,
  },
  'due-next': {
    title: 'Due in seven days',
    about: 'What falls due, lapses or expires in the next seven days.',
    sql: `
select t.due_on, t.task, t.label, t.about, p.name as responsible_name, p.field_office, p.supervisor_name, t.followup_id, t.response_id, t.form_id,
  t.equipment_id, t.user_id
from (
  select o.due_on, 'follow-up' as task, o.form_label as label, o.first_note as about, o.id as followup_id, o.response_id, o.form_id,
    null as equipment_id, ${HOLDER} as user_id${OPEN} and o.days_until_due between 0 and 6
  union all
  select m.expires_on, 'training', m.training_label, null, null, null, null, null, m.user_id
  from safety.training_matrix m
  where m.account_id = $1 and m.days_until_expiry between 0 and 6 and m.is_required is not false and ${ofPeople('m.user_id')}
  union all
  select i.expires_on, 'inspection', i.schedule_label, coalesce(i.title, i.equipment_type_label) || coalesce(' ' || i.serial_number, ''),
    null, null, null, i.equipment_id, (select min(r.user_id) from (${RESPONSIBLE}) r where r.equipment_id = i.equipment_id)
  from safety.equipment_inspections i
  where i.account_id = $1 and i.is_in_service and i.days_until_expiry between 0 and 6 and not ${IS_EXPIRED}
    and ${ofEquipment('i.equipment_id')}
) t
left join safety.people p on p.account_id = $1 and p.user_id = t.user_id
where p.is_active is not false
order by t.due_on, t.task, t.label, p.name, t.followup_id, t.equipment_id, t.user_id`,
    records: [
      ['followup', 'followup_id'],
      ['equipment', 'equipment_id'],
      ['employee', 'user_id'],
    ],
    shown: 300,
  },
  'overdue-followups': followupList(
    'Overdue follow-ups',
    'Overdue follow-ups, longest overdue first.',
    ' and o.is_overdue',
    15,
  ),
  'open-followups': followupList('Open follow-ups', 'All open follow-ups, by due day.', '', 0),
  'due-followups': {
    title: 'Fell due',
    about: 'Follow-ups that fell due in the last thirty days, done or not.',
    sql: `
select d.form_label, d.assignee_name, d.due_on, d.done_on, d.done_in_time, d.form_group, d.followup_id, o.response_id, d.form_id,
  d.assignee_id${fellDue(30)}
order by d.due_on, d.followup_id`,
    records: [['followup', 'followup_id']],
    shown: 0,
  },
  areas: {
    title: 'Areas',
    about:
      'Offices, lines of business, companies, their groups, and supervisors: people (those who have left apart), training, follow-ups, equipment. The last share is of what fell due in the last ninety days.',
    sql: `
with place as (${PEOPLE_PLACES}), person as (
  select p.user_id, p.is_active is false as has_left, c.is_compliant, f.open_followups, f.overdue_followups, f.oldest_due_on, d.fell_due, d.in_time
  from safety.people p
  left join safety.training_compliance c on c.account_id = $1 and c.user_id = p.user_id
  left join (${OPEN_BY_PERSON}) f on f.user_id = p.user_id
  left join (select ${HOLDER} as user_id, count(*) as fell_due, count(*) filter (where d.done_in_time) as in_time${fellDue(90)} group by 1) d
    on d.user_id = p.user_id
  where p.account_id = $1 and ${ofPeople('p.user_id')}
), member as (
  select user_id, area_kind, area, area_group from place
  union
  select user_id, area_kind || '_group', area_group, null from place where area_group is not null
), thing as (${EQUIPMENT_PLACES}), fact as (
  select case when p.has_left then 'left' else m.area_kind end as area_kind, case when p.has_left then 'People who have left' else m.area end as area,
    case when not p.has_left then m.area_group end as area_group, p.*, null::bigint as in_service, null::bigint as expired
  from person p
  join (
    select m.* from member m
    union all
    select user_id, 'left', null, null from person where has_left
  ) m on m.user_id = p.user_id and p.has_left = (m.area_kind = 'left')
  union all
  select m.area_kind, m.area, m.area_group, null, false, null, null, null, null, null, null, count(*), count(*) filter (where e.status = 'expired')
  from (
    select equipment_id, area_kind, area, area_group from thing
    union
    select equipment_id, area_kind || '_group', area_group, null from thing where area_group is not null
  ) m
  join safety.equipment_overview e on e.account_id = $1 and e.id = m.equipment_id and e.is_in_service
  where ${ofEquipment('e.id')}
  group by 1, 2, 3
)
select area, area_kind, max(area_group) as area_group, count(user_id) as people, count(is_compliant) as needing_training,
  count(*) filter (where is_compliant) as compliant,
  round(100.0 * count(*) filter (where is_compliant) / nullif(count(is_compliant), 0), 1) as percent_compliant,
  coalesce(sum(open_followups), 0) as open_followups, coalesce(sum(overdue_followups), 0) as overdue_followups, min(oldest_due_on) as oldest_due_on,
  round(100.0 * sum(in_time) / nullif(sum(fell_due), 0), 1) as percent_done_in_time, coalesce(sum(expired), 0) as expired_equipment,
  coalesce(sum(in_service), 0) as in_service
from fact
group by area_kind, area
order by area_kind, overdue_followups desc, expired_equipment desc, area`,
    records: [],
    shown: 500,
  },
  'lacking-trainings': {
    title: 'Lacking trainings',
    about: 'People who lack required trainings, those who lack the most first; leavers are left out.',
    sql: `
select p.name as user_name, l.lacking, l.missing_trainings, p.field_office, p.line_of_business, p.job_title, p.supervisor_name, p.user_id
from (select m.user_id, count(*) as lacking, string_agg(m.training_label, ', ' order by m.training_label) as missing_trainings${LACKING} group by 1) l
join safety.people p on p.account_id = $1 and p.user_id = l.user_id
where p.is_active is not false
order by l.lacking desc, user_name, p.user_id`,
    records: [['employee', 'user_id']],
    shown: 15,
  },
  trainings: {
    title: 'Trainings',
    about: 'Required trainings, those that most people lack first; leavers are left out.',
    sql: `
select m.training_label, count(*) filter (where m.state in ('missing', 'expired')) as lacking, count(*) filter (where m.state = 'missing') as never_done,
  count(*) filter (where m.state = 'expired') as lapsed, count(*) filter (where m.state = 'expiring') as expiring, count(*) as needed_by, m.training_id
from safety.training_matrix m
join safety.people p on p.account_id = m.account_id and p.user_id = m.user_id and p.is_active is not false
where m.account_id = $1 and m.is_required and ${ofPeople('m.user_id')}
group by m.training_label, m.training_id
order by lacking desc, m.training_label, m.training_id`,
    records: [],
    shown: 10,
  },
  'lapsing-trainings': {
    title: 'Lapsing trainings',
    about: 'Trainings that lapse in the next ninety days.',
    sql: `
select p.name as user_name, m.training_label, m.expires_on, m.days_until_expiry, m.is_required, p.field_office, p.supervisor_name, m.user_id, m.training_id
from safety.training_matrix m
join safety.people p on p.account_id = m.account_id and p.user_id = m.user_id and p.is_active is not false
where m.account_id = $1 and m.days_until_expiry between 0 and 89 and ${ofPeople('m.user_id')}
order by m.expires_on, m.user_id, m.training_id`,
    records: [['employee', 'user_id']],
    shown: 10,
  },
  'equipment-in-service': {
    title: 'Equipment in service',
    about: 'Equipment in service, expired first.',
    sql: `
select coalesce(e.title, e.equipment_type_label) as title, e.serial_number, e.status, e.field_offices, e.responsible_name, e.equipment_type_label,
  e.line_of_business_label, e.id, e.equipment_type_id
from safety.equipment_overview e
where e.account_id = $1 and e.is_in_service and ${ofEquipment('e.id')}
order by array_position(array['expired', 'expiring', 'uptodate'], e.status), e.equipment_type_label, e.id`,
    records: [['equipment', 'id']],
    shown: 0,
  },
  documents: {
    title: 'Documents',
    about: 'Documents with their newest version; those without an approval first.',
    sql: `
select d.title, d.version, d.category_label, d.created_on, d.approved_on, d.creator_name, d.age_days, d.resource_id, d.category_id, d.creator_id
from safety.current_resource_versions d
where d.account_id = $1 and $2::text[] is null
order by d.approved_at is not null, d.created_at, d.resource_id`,
    records: [['resource', 'resource_id']],
    shown: 0,
  },
} satisfies Readonly<Record<string, List>>;

export type ListName = keyof typeof LISTS;
export const LIST_NAMES = Object.keys(LISTS) as ListName[];
