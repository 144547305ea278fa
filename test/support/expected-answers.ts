/**
 * A small past, by hand, and the answers that docs/questions.md must give about it. Days are in UTC, and relative to today;
 * months far enough back that a day of them never falls into the last thirty days.
 */
import { dayNumber, toDay } from './expected-views.ts';

export const TODAY = new Date().toISOString().slice(0, 10);
const ago = (days: number): string => toDay(dayNumber(TODAY) - days);
const month = (monthsAgo: number, date = 1): string => {
  const [year = 0, now = 0] = TODAY.split('-').map(Number);
  return new Date(Date.UTC(year, now - 1 - monthsAgo, date)).toISOString().slice(0, 10);
};
const CHANGE_DAY = ago(40);

const text = (value: string | null): string => (value === null ? 'null' : `'${value}'`);
/** At noon. */
const at = (day: string | null): string => (day === null ? 'null' : `'${day} 12:00Z'`);

interface Followup {
  readonly form: number;
  readonly assignee: 'p1' | 'p2';
  readonly created: string;
  readonly due?: string;
  readonly resolved?: string;
  /** The state before the present one, which began with the present one's `changed`. */
  readonly before?: { readonly due?: string; readonly resolved?: string };
  readonly changed?: string;
}

const FOLLOWUPS: Readonly<Record<string, Followup>> = {
  new: { form: 11, assignee: 'p1', created: ago(3), due: ago(-5), before: { due: ago(-2) }, changed: ago(1) },
  late: { form: 11, assignee: 'p1', created: ago(20), due: ago(2) },
  old: { form: 12, assignee: 'p1', created: month(4, 5) },
  reopened: {
    form: 12,
    assignee: 'p2',
    created: month(4, 5),
    due: ago(10),
    before: { due: ago(10), resolved: month(2, 3) },
    changed: ago(2),
  },
  inTime: { form: 11, assignee: 'p1', created: month(2, 5), due: month(2, 12), resolved: month(2, 10) },
  postponed: {
    form: 11,
    assignee: 'p1',
    created: month(2, 5),
    due: month(2, 20),
    resolved: month(2, 25),
    before: { due: month(2, 8) },
    changed: month(2, 7),
  },
  noDue: { form: 12, assignee: 'p2', created: month(2, 2), resolved: month(2, 9) },
  postponedInTime: {
    form: 11,
    assignee: 'p1',
    created: month(3, 5),
    due: month(3, 20),
    resolved: month(3, 15),
    before: { due: month(3, 10) },
    changed: month(3, 8),
  },
};

function insertFollowup([id, one]: readonly [string, Followup]): string[] {
  const { form, assignee, created, before, changed = created } = one;
  const columns = 'account_id, id, form_id, assignee_id, created_at, due_on, is_open, resolved_at';
  const values = ({ due = null, resolved = null }: { due?: string | null; resolved?: string | null }) =>
    `'default', '${id}', ${form}, '${assignee}', ${at(created)}, ${text(due)}, ${resolved === null}, ${at(resolved)}`;
  return [
    `insert into safety.followups (${columns}, _valid_from, _synced_at, _run_id) values (${values(one)}, ${at(changed)}, now(), 1)`,
    ...(before === undefined
      ? []
      : [
          `insert into safety.followup_states (${columns}, valid_from, valid_to)
             values (${values(before)}, ${at(before.resolved ?? created)}, ${at(changed)})`,
        ]),
  ];
}

/** Follow-up, position, day, author, and to whom it is handed on. */
const MESSAGES = [
  ['late', 1, ago(10), 'p1', 'p2'],
  ['late', 2, ago(6), 'p2', 'p1'],
  ['postponed', 1, month(2, 15), 'p2', 'p1'],
  // After its closing.
  ['reopened', 1, month(2, 15), 'p1', 'p2'],
] as const;

/** Equipment of 21, by id: its offices, whether it is in service, its status. */
const EQUIPMENT = [
  ['e1', '{shop}', true, 'expired'],
  ['e2', '{shop,depot,yard}', true, 'uptodate'],
  ['e3', '{yard}', false, 'expired'],
] as const;

/** Inspections of equipment: status, done and due as they were first, done as it is now, and when that was seen. */
const INSPECTIONS = [
  ['e1', 'expired', month(3, 1), month(2, 10), month(2, 12), month(2, 13)],
  ['e2', 'uptodate', null, month(2, 20), month(2, 15), month(2, 16)],
] as const;

/** Employee, training, completed on, expiring from, expires on, whether it is required. */
const COMPLETIONS = [
  ['p1', 1, month(2, 10), null, ago(-300), true],
  ['p2', 1, month(3, 10), ago(5), ago(-20), true],
  ['p2', 2, month(3, 12), null, ago(3), true],
  ['p2', 3, month(3, 12), null, null, false],
] as const;

/** Completions before those: employee, training, completed on, expired on, until when. The last one was corrected. */
const EARLIER_COMPLETIONS = [
  ['p1', 1, month(4, 10), month(2, 5), month(2, 11)],
  ['p2', 1, month(4, 10), month(3, 20), month(3, 11)],
  ['p2', 3, month(2, 28), null, month(2, 28)],
] as const;

/** The account is `default`; its days have to be counted afterwards. */
export const STORY: readonly string[] = [
  ...Object.entries(FOLLOWUPS).flatMap(insertFollowup),
  ...MESSAGES.map(
    ([followup, position, day, author, reassignee]) =>
      `insert into safety.followup_messages (account_id, followup_id, id, position, sent_at, user_id, reassignee_id)
       values ('default', '${followup}', '${position}', ${position}, ${at(day)}, '${author}', '${reassignee}')`,
  ),
  ...EQUIPMENT.map(
    ([id, offices, isInService, status]) =>
      `insert into safety.equipment (account_id, id, equipment_type_id, field_office_ids, assigned_user_ids, is_in_service, status, _synced_at, _run_id)
       values ('default', '${id}', '21', '${offices}', '{p1}', ${isInService}, '${status}', now(), 1)`,
  ),
  ...INSPECTIONS.flatMap(([id, status, doneBefore, due, done, seen]) => [
    `insert into safety.equipment_schedule_states (account_id, equipment_id, schedule_id, status, last_completed_at, expires_at, valid_from, valid_to)
     values ('default', '${id}', 's', '${status}', ${at(doneBefore)}, ${at(due)}, ${at(month(3, 2))}, ${at(seen)})`,
    `insert into safety.equipment_schedules (account_id, equipment_id, schedule_id, status, last_completed_at, expires_at, _valid_from)
     values ('default', '${id}', 's', 'uptodate', ${at(done)}, ${at(ago(-100))}, ${at(seen)})`,
    `insert into safety.equipment_completions select 'default', '${id}', 's', done::timestamptz, due::timestamptz
     from (values (${at(doneBefore)}, null), (${at(done)}, ${at(due)})) as c (done, due) where done is not null`,
  ]),
  `insert into safety.training_employee_status
     (account_id, user_id, complete_training_ids, incomplete_training_ids, _valid_from, _synced_at, _run_id)
   values ('default', 'p1', '{1}', '{2}', ${at(CHANGE_DAY)}, now(), 1), ('default', 'p2', '{1,2}', '{}', ${at(month(4))}, now(), 1)`,
  `insert into safety.training_employee_status_states
     (account_id, user_id, complete_training_ids, incomplete_training_ids, valid_from, valid_to)
   values ('default', 'p1', '{}', '{1,2}', ${at(month(4))}, ${at(CHANGE_DAY)})`,
  ...EARLIER_COMPLETIONS.map(
    ([user, training, completed, expires, until]) =>
      `insert into safety.training_completion_states (account_id, user_id, training_id, completed_on, expires_on, is_required, valid_from, valid_to)
       values ('default', '${user}', ${training}, '${completed}', ${text(expires)}, ${training < 3}, ${at(month(4, 11))}, ${at(until)})`,
  ),
  ...COMPLETIONS.map(
    ([user, training, completed, expiring, expires, isRequired]) =>
      `insert into safety.training_completions
         (account_id, user_id, training_id, completed_on, starts_expiring_on, expires_on, is_required, _valid_from)
       values ('default', '${user}', ${training}, '${completed}', ${text(expiring)}, ${text(expires)}, ${isRequired},
         coalesce((select max(valid_to) from safety.training_completion_states s where s.user_id = '${user}' and s.training_id = ${training}),
           '${completed} 12:00Z'))`,
  ),
  `insert into safety.users (account_id, id, name, _synced_at, _run_id) values ('default', 'p1', 'Ada', now(), 1), ('default', 'p2', 'Ben', now(), 1)`,
  `insert into safety.labels (account_id, kind, id, label, parent_id) values
     ('default', 'form', '11', 'Walk', 'high'), ('default', 'form', 'high', 'High risk', null), ('default', 'form', '12', 'Audit', null),
     ('default', 'training', '1', 'First aid', null), ('default', 'training', '2', 'Rigging', null),
     ('default', 'field_office', 'shop', 'Shop', 'sea'), ('default', 'field_office', 'depot', 'Depot', 'sea'),
     ('default', 'field_office', 'sea', 'North Sea', null), ('default', 'field_office', 'yard', 'Yard', null)`,
];

const isMonday = (day: string): boolean => new Date(day).getUTCDay() === 1;
const MONDAYS = Array.from({ length: 85 }, (_, days) => ago(84 - days)).filter(isMonday);

/** By the number of the question: the rows, each with its cells; an empty one is null. */
export const EXPECTED_ANSWERS: Readonly<Record<number, readonly string[]>> = {
  13: ['1'],
  25: ['p1|Ada|1'],
  28: ['e1|s|1'],
  32: ['00-07|1|0', '08-30|1|1', '91+|2|1'],
  33: [`${month(2)}|3|50.0|66.7|1`, `${month(3)}|1|100.0|100.0|1`],
  34: ['p1|Ada|3|66.7'],
  35: ['p1|Ada|3|10|18', 'p2|Ben|1|7|7'],
  37: ['Ada|1|1||', 'Ben|1|1||'],
  38: ['Walk|Ada|2'],
  39: ['High risk|2|1', 'unknown|2|1'],
  40: ['North Sea|2|1', 'Yard|1|0'],
  41: [`${month(2)}|2|2|1|2|2|50.0`, `${month(3)}|1|0|0||0|`],
  42: ['Rigging|2|0|0|1|1|0.0', 'First aid|2|1|1|0|0|100.0'],
  43: ['Ada|Rigging|missing|', `Ben|Rigging|expired|${ago(3)}`],
  44: MONDAYS.flatMap((monday) => [
    `${monday}|First aid|2|${monday <= CHANGE_DAY ? '50.0' : '100.0'}`,
    `${monday}|Rigging|2|50.0`,
  ]),
  45: [`${ago(10)}|Audit|Ben||false`, `${ago(2)}|Walk|Ada||false`],
  // And the present month, which may have begun before the latest changes or after them.
  46: [`${month(3)}|Audit|2`, `${month(2)}|Audit|2`, `${month(1)}|Audit|1`],
  47: ['p1|Ada|1|3|2', 'p2|Ben|0|1|1'],
  48: [`${month(2)}|0|1|1`, `${month(3)}|2|1|0`, `${month(4)}|2|0|0`],
  49: [
    `Ada|First aid|missing|${ago(-300)}`,
    'Ada|Rigging|missing|',
    `Ben|First aid|complete|${ago(-20)}`,
    `Ben|Rigging|complete|${ago(3)}`,
  ],
  50: [`${month(2)}|3|50.0|50.0|1`, `${month(3)}|1|100.0|0.0|1`],
};
