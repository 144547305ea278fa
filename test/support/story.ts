/**
 * A small past, by hand, for golden rows. Days are in UTC, and relative to today; months far enough back that a day of them
 * never falls into the last thirty days.
 */
import type { Connection } from '../../src/engine/database/connection.ts';

const DAY_MS = 86_400_000;
export const TODAY = new Date().toISOString().slice(0, 10);
export const ago = (days: number): string =>
  new Date(Date.parse(TODAY) - days * DAY_MS).toISOString().slice(0, 10);
export function month(monthsAgo: number, date = 1): string {
  const [year = 0, now = 0] = TODAY.split('-').map(Number);
  return new Date(Date.UTC(year, now - 1 - monthsAgo, date)).toISOString().slice(0, 10);
}
/** At noon. */
const at = (day: string | null | undefined): string | null => (day == null ? null : `${day} 12:00Z`);

type Row = Readonly<Record<string, unknown>>;
export type Add = (table: string, ...rows: readonly Row[]) => Promise<void>;

const BOOKKEEPING = { _run_id: 1, _synced_at: '2026-01-01Z', _valid_from: '2026-01-01Z' };

/** Adds rows to tables of an account; columns of bookkeeping have a value where none is given. */
export const addTo =
  ({ query }: Pick<Connection, 'query'>, account_id = 'default'): Add =>
  async (table, ...rows) => {
    const [schema = '', name = ''] = table.split('.');
    const found = await query<{ name: string }>(
      `select column_name as name from information_schema.columns where table_schema = '${schema}' and table_name = '${name}'`,
    );
    const given = { account_id, ...BOOKKEEPING };
    for (const row of rows) {
      const full: Row = { ...given, ...row };
      const columns = found.flatMap((column) => (column.name in full ? column.name : [])).join(', ');
      await query(
        `insert into ${table} (${columns}) select ${columns} from json_populate_record(null::${table}, $1::text::json)`,
        [JSON.stringify(full)],
      );
    }
  };

/** A follow-up with its states, oldest first: each from its `from`; the last one is the present row, with `columns` of its own. */
export async function addStates(
  add: Add,
  id: string,
  states: readonly (Row & { readonly from: string })[],
  columns: Row = {},
): Promise<void> {
  for (const [place, { from, ...state }] of states.entries()) {
    const next = states[place + 1];
    if (next === undefined) await add('safety.followups', { id, ...state, ...columns, _valid_from: from });
    else await add('safety.followup_states', { id, ...state, valid_from: from, valid_to: next.from });
  }
}

/** Rows with these columns. */
const rowsOf = (columns: string, ...rows: readonly (readonly unknown[])[]): Row[] =>
  rows.map((row) => Object.fromEntries(columns.split(' ').map((column, place) => [column, row[place]])));

/** The state that ended with `until`, and was another one. */
const CHANGE_DAY = ago(40);

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
    ...{ form: 12, assignee: 'p2', created: month(4, 5), due: ago(10), changed: ago(2) },
    before: { due: ago(10), resolved: month(2, 3) },
  },
  inTime: { form: 11, assignee: 'p1', created: month(2, 5), due: month(2, 12), resolved: month(2, 10) },
  postponed: {
    ...{ form: 11, assignee: 'p1', created: month(2, 5), due: month(2, 20), resolved: month(2, 25) },
    ...{ before: { due: month(2, 8) }, changed: month(2, 7) },
  },
  noDue: { form: 12, assignee: 'p2', created: month(2, 2), resolved: month(2, 9) },
  postponedInTime: {
    ...{ form: 11, assignee: 'p1', created: month(3, 5), due: month(3, 20), resolved: month(3, 15) },
    ...{ before: { due: month(3, 10) }, changed: month(3, 8) },
  },
};

async function addFollowup(add: Add, id: string, one: Followup): Promise<void> {
  const { form: form_id, assignee: assignee_id, created, before, changed = created } = one;
  const state = ({ due, resolved }: { due?: string; resolved?: string }) => ({
    ...{ id, form_id, assignee_id, created_at: at(created), due_on: due ?? null },
    ...{ is_open: resolved === undefined, resolved_at: at(resolved) },
  });
  await add('safety.followups', { ...state(one), _valid_from: at(changed) });
  if (before === undefined) return;
  const times = { valid_from: at(before.resolved ?? created), valid_to: at(changed) };
  await add('safety.followup_states', { ...state(before), ...times });
}

/** Days of account `default` have to be counted afterwards. */
export async function tellStory(connection: Connection): Promise<void> {
  const add = addTo(connection);
  for (const [id, one] of Object.entries(FOLLOWUPS)) await addFollowup(add, id, one);
  const messages = rowsOf(
    'followup_id id position sent_at user_id reassignee_id',
    ['late', '1', 1, at(ago(10)), 'p1', 'p2'],
    ['late', '2', 2, at(ago(6)), 'p2', 'p1'],
    ['postponed', '1', 1, at(month(2, 15)), 'p2', 'p1'],
    // After its closing.
    ['reopened', '1', 1, at(month(2, 15)), 'p1', 'p2'],
  );
  await add('safety.followup_messages', ...messages);
  const equipment = rowsOf(
    'id equipment_type_id field_office_ids assigned_user_ids assigned_user_id is_in_service status',
    ['e1', '21', ['shop'], ['p1'], 'p2', true, 'expired'],
    ['e2', '21', ['shop', 'depot', 'yard'], ['p1'], 'p1', true, 'uptodate'],
    ['e3', '21', ['yard'], ['p1'], null, false, 'expired'],
  );
  await add('safety.equipment', ...equipment);
  // Done and due as they were first, done as it is now, and when that was seen.
  for (const [equipment_id, status, doneBefore, due, done, seen] of [
    ['e1', 'expired', month(3, 1), month(2, 10), month(2, 12), month(2, 13)],
    ['e2', 'uptodate', null, month(2, 20), month(2, 15), month(2, 16)],
  ] as const) {
    const key = { equipment_id, schedule_id: 's' };
    const first = { ...key, status, last_completed_at: at(doneBefore), expires_at: at(due) };
    const now = { ...key, status: 'uptodate', last_completed_at: at(done), expires_at: at(ago(-100)) };
    const was = { valid_from: at(month(3, 2)), valid_to: at(seen) };
    await add('safety.equipment_schedule_states', { ...first, ...was });
    await add('safety.equipment_schedules', { ...now, _valid_from: at(seen) });
    if (doneBefore !== null)
      await add('safety.equipment_completions', { ...key, completed_at: at(doneBefore), was_due_at: null });
    await add('safety.equipment_completions', { ...key, completed_at: at(done), was_due_at: at(due) });
  }
  const employees = rowsOf(
    'user_id complete_training_ids incomplete_training_ids _valid_from',
    ['p1', [1], [2], at(CHANGE_DAY)],
    ['p2', [1, 2], [], at(month(4))],
  );
  await add('safety.training_employee_status', ...employees);
  await add('safety.training_employee_status_states', {
    ...{ user_id: 'p1', complete_training_ids: [], incomplete_training_ids: [1, 2] },
    ...{ valid_from: at(month(4)), valid_to: at(CHANGE_DAY) },
  });
  const earlier = rowsOf(
    'user_id training_id completed_on expires_on is_required valid_from valid_to',
    ['p1', 1, month(4, 10), month(2, 5), true, at(month(4, 11)), at(month(2, 11))],
    ['p2', 1, month(4, 10), month(3, 20), true, at(month(4, 11)), at(month(3, 11))],
    // Corrected.
    ['p2', 3, month(2, 28), null, false, at(month(4, 11)), at(month(2, 28))],
  );
  await add('safety.training_completion_states', ...earlier);
  const completions = rowsOf(
    'user_id training_id completed_on starts_expiring_on expires_on is_required _valid_from',
    ['p1', 1, month(2, 10), null, ago(-300), true, at(month(2, 11))],
    ['p2', 1, month(3, 10), ago(5), ago(-20), true, at(month(3, 11))],
    ['p2', 2, month(3, 12), null, ago(3), true, at(month(3, 12))],
    ['p2', 3, month(3, 12), null, null, false, at(month(2, 28))],
  );
  await add('safety.training_completions', ...completions);
  await add(
    'safety.users',
    ...rowsOf('id name field_office_ids', ['p1', 'Ada', ['shop', 'depot']], ['p2', 'Ben', ['yard']]),
  );
  const labels = rowsOf(
    'kind id label parent_id',
    ['form', '11', 'Walk', 'high'],
    ['form', 'high', 'High risk', null],
    ['form', '12', 'Audit', null],
    ['training', '1', 'First aid', null],
    ['training', '2', 'Rigging', null],
    ['field_office', 'shop', 'Aberdeen – Altens yard', 'sea'],
    ['field_office', 'depot', 'Depot', 'sea'],
    ['field_office', 'sea', 'North Sea', null],
    ['field_office', 'yard', 'Yard', null],
  );
  await add('safety.labels', ...labels);
}

const MONDAYS = Array.from({ length: 85 }, (_, days) => ago(84 - days)).filter(
  (day) => new Date(day).getUTCDay() === 1,
);

/** By the number of the question in docs/questions.md: the rows, each with its cells; an empty one is null. */
export const EXPECTED_ANSWERS: Readonly<Record<number, readonly string[]>> = {
  1: [`reopened|Audit|Ben|${ago(10)}|10||`, `late|Walk|Ada|${ago(2)}|2||`],
  3: ['closed|4', 'open|2', 'overdue|2'],
  13: ['1'],
  25: ['p1|Ada|1', 'p2|Ben|1'],
  28: ['e1|s|1'],
  32: ['00-07|1|0', '08-30|1|1', '91+|2|1'],
  33: [`${month(2)}|3|50.0|66.7|1`, `${month(3)}|1|100.0|100.0|1`],
  34: ['p1|Ada|3|66.7'],
  35: ['p1|Ada|3|10|18', 'p2|Ben|1|7|7'],
  36: [
    'group: office|North Sea|1|0||3|1',
    ...['Aberdeen – Altens yard|1|0||3|1', 'Depot|1|0||3|1', 'Yard|1|0||1|1'].map((row) => `office|${row}`),
  ],
  37: ['Ada|1|1|0||'],
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
