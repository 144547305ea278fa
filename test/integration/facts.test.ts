/** The views of facts: golden rows of small pasts. */
import { beforeAll, expect, test } from 'vitest';
import { streamShape } from '../../src/engine/database/table-shape.ts';
import { recordCompletions } from '../../src/engine/history/completions.ts';
import { equipmentsStream } from '../../src/engine/streams/equipments.ts';
import { writeViewSettings } from '../../src/warehouse/view-settings.ts';
import { dayOf, daysAfter } from '../support/local-day.ts';
import { forAllTests } from '../support/lifetime.ts';
import { addStates, addTo } from '../support/story.ts';
import { openTestDatabase } from '../support/test-database.ts';

const TIMEZONE = 'America/New_York';

type Row = Readonly<Record<string, string | null>>;

const connection = forAllTests(() => openTestDatabase());
beforeAll(async () => {
  await writeViewSettings(connection.db, [{ accountId: 'a', timezone: TIMEZONE }]);
});

async function store(statements: readonly string[]): Promise<void> {
  await connection.query(`do $$ begin ${statements.join('; ')}; end $$`);
}

/** As text. */
async function read(view: string, columns: readonly string[]): Promise<string[]> {
  const typed = columns.map((column) => `${column}::text`);
  return sorted(await connection.query<Row>(`select ${typed.join(', ')} from safety.${view}`));
}
const sorted = (rows: readonly Row[]): string[] =>
  rows.map((row) => JSON.stringify(Object.entries(row).toSorted(([a], [b]) => (a < b ? -1 : 1)))).toSorted();

const today = dayOf(Date.now(), TIMEZONE);

test('an inspection that was corrected or taken back at the source is shown as the source has it now, later inspections are not lost, and each due day that came has one row', async () => {
  const day = (text: string) => (text === '' ? 'null' : `'${text.padEnd(13, 'T10')}:00:00Z'`);
  await writeViewSettings(connection.db, [{ accountId: 'corrected', timezone: TIMEZONE }]);
  // Per state: seen on, done on, due on.
  const cases: Record<string, [string, string, string][]> = {
    'typed with a wrong year': [
      ['2026-03-01', '2025-03-14', '2026-03-14'],
      ['2026-03-25', '2027-03-25', '2027-06-25'],
      ['2026-03-26', '2026-03-25', '2026-06-25'],
      ['2026-06-28', '2026-06-28', '2026-09-28'],
      ['2026-10-05', '2026-10-05', '2027-01-05'],
    ],
    'corrected backward': [
      ['2026-03-01', '2025-03-10', '2026-03-10'],
      ['2026-03-06', '2026-03-05', '2027-03-05'],
      ['2026-03-08', '2026-03-04', '2027-03-04'],
    ],
    'taken back to none': [
      ['2026-03-01', '', '2026-03-10'],
      ['2026-03-06', '2026-03-05', '2027-03-05'],
      ['2026-03-08', '', '2026-03-10'],
    ],
    'on the day, by the clock of the account': [
      ['2026-03-01', '2025-03-10', ''],
      ['2026-03-05', '2026-03-04', '2026-03-07T03'],
      ['2026-03-08', '2026-03-07T04', ''],
    ],
    'moved in advance': [
      ['2026-03-01', '2025-03-10', '2026-03-10'],
      ['2026-03-09', '2025-03-10', '2027-03-10'],
    ],
    'moved too late': [
      ['2026-03-01', '2025-03-10', '2026-03-10'],
      ['2026-03-12', '2025-03-10', '2027-03-10'],
    ],
    'twice on one day, then late': [
      ['2026-03-01', '2026-02-27', '2026-03-02T16'],
      ['2026-03-01T20', '2026-03-01T19', '2026-03-02T19'],
      ['2026-03-04', '2026-03-03T18', '2026-09-03'],
    ],
    'twice on one day, then missed': [
      ['2026-03-01', '2026-02-27', '2026-03-02T16'],
      ['2026-03-01T20', '2026-03-01T19', '2026-03-02T19'],
    ],
    deleted: [
      ['2026-03-01', '2025-03-10', ''],
      ['2026-03-05', '2026-03-04', ''],
    ],
  };
  const ids = Object.keys(cases);
  await store(
    ids.map(
      (id) => `insert into safety.equipment (account_id, id, title, _synced_at, _deleted_at, _run_id)
        values ('corrected', '${id}', 'T ${id}', now(), ${id === 'deleted' ? 'now()' : 'null'}, 1)`,
    ),
  );
  for (let at = 0; at < 5; at += 1) {
    for (const [id, states] of Object.entries(cases)) {
      const [seen, done, due] = states[at] ?? [];
      if (seen === undefined || done === undefined || due === undefined) continue;
      await store([
        `insert into safety.equipment_schedule_states
           select account_id, equipment_id, schedule_id, status, expires_at, expiring_at, last_completed_at, _valid_from, ${day(seen)}
           from safety.equipment_schedules where equipment_id = '${id}'`,
        `delete from safety.equipment_schedules where equipment_id = '${id}'`,
        `insert into safety.equipment_schedules (account_id, equipment_id, schedule_id, last_completed_at, expires_at, _valid_from)
           values ('corrected', '${id}', 's1', ${day(done)}, ${day(due)}, ${day(seen)})`,
      ]);
    }
    // A second time, as after a change of something else.
    for (const stagedKeys of [ids, ids])
      await recordCompletions(connection.db, streamShape(equipmentsStream), {
        accountId: 'corrected',
        stagedKeys,
      });
  }
  await store([`insert into safety.labels values ('corrected', 'schedule', 's1', 'Annual', null)`]);
  const inspections = await connection.query<Row & { late: number | null; has_names: boolean }>(
    `select equipment_id as id, completed_on::text as done, days_late as late, in_time::text, was_due_on::text as due,
       schedule_id = 's1' and schedule_label = 'Annual' and title = 'T ' || equipment_id
         and equipment_key = 'corrected/' || equipment_id and completed_on = (completed_at at time zone '${TIMEZONE}')::date
         and was_due_on is not distinct from (was_due_at at time zone '${TIMEZONE}')::date as has_names
     from safety.inspection_completions where account_id = 'corrected' order by 1, 2`,
  );
  expect(inspections.map((row) => row.has_names)).not.toContain(false);
  expect(
    inspections.map(({ id, done, late, due, in_time: inTime }) =>
      late === null
        ? `${id}: ${done}, ${due ?? inTime ?? 'not known when due'}`
        : `${id}: ${done}, ${late} days late${inTime === String(late === 0) ? '' : ', but says otherwise'}`,
    ),
  ).toEqual([
    'corrected backward: 2025-03-10, not known when due',
    'corrected backward: 2026-03-04, 0 days late',
    'moved in advance: 2025-03-10, not known when due',
    'moved too late: 2025-03-10, not known when due',
    'on the day, by the clock of the account: 2025-03-10, not known when due',
    'on the day, by the clock of the account: 2026-03-04, not known when due',
    'on the day, by the clock of the account: 2026-03-06, 0 days late',
    'twice on one day, then late: 2026-02-27, not known when due',
    'twice on one day, then late: 2026-03-01, 0 days late',
    'twice on one day, then late: 2026-03-03, 1 days late',
    'twice on one day, then missed: 2026-02-27, not known when due',
    'twice on one day, then missed: 2026-03-01, 0 days late',
    'typed with a wrong year: 2025-03-14, not known when due',
    'typed with a wrong year: 2026-03-25, 11 days late',
    'typed with a wrong year: 2026-06-28, 3 days late',
    'typed with a wrong year: 2026-10-05, 7 days late',
  ]);
  // The present due days, which came long ago, and those of completed inspections.
  const dues = await connection.query<Row>(
    `select equipment_id || ': ' || due_on || ', ' || coalesce(done_on || ', ' || done_in_time, 'never done') as one
     from safety.due_inspections where account_id = 'corrected' and due_on < '2026-06-01' order by 1`,
  );
  expect(dues.map(({ one }) => one)).toEqual([
    'corrected backward: 2026-03-10, 2026-03-04, true',
    'moved too late: 2026-03-10, never done',
    'on the day, by the clock of the account: 2026-03-06, 2026-03-06, true',
    'taken back to none: 2026-03-10, never done',
    'twice on one day, then late: 2026-03-02, 2026-03-03, false',
    'twice on one day, then missed: 2026-03-02, never done',
    'typed with a wrong year: 2026-03-14, 2026-03-25, false',
  ]);
});

test('due_followups has one row for each due day that came: done in time, late or never, also of one that was moved after it had passed', async () => {
  await writeViewSettings(connection.db, [{ accountId: 'due', timezone: TIMEZONE }]);
  const day = (ago: number) => daysAfter(today, -ago);
  // Noon in New York.
  const at = (ago: number) => `${day(ago)}T17:00:00Z`;
  const state = (ago: number, dueAgo: number, closedAgo?: number) => ({
    ...{ is_open: closedAgo === undefined, due_on: day(dueAgo), assignee_id: 'p1', form_id: 11 },
    ...{ created_at: at(30), resolved_at: closedAgo === undefined ? null : at(closedAgo), from: at(ago) },
  });
  const pasts: Record<string, ReturnType<typeof state>[]> = {
    'in time': [state(20, 10), state(12, 10, 12)],
    late: [state(20, 10), state(5, 10, 5)],
    never: [state(20, 10)],
    today: [state(20, 0)],
    'still to come': [state(20, -5)],
    'moved in advance': [state(20, 10), state(15, 3)],
    'moved too late': [state(20, 10), state(5, 3), state(3, 3, 3)],
    'late, then moved': [state(20, 10), state(5, 10, 5), state(2, -9)],
    'moved again': [state(30, 20), state(15, 10), state(9, 2), state(1, -9)],
    gone: [state(20, 10)],
  };
  const add = addTo(connection, 'due');
  for (const [id, states] of Object.entries(pasts))
    await addStates(add, id, states, id === 'gone' ? { _deleted_at: at(1) } : {});
  const found = await connection.query<Row>(
    `select followup_id || ': due ' || '${today}'::date - due_on || ', done ' || coalesce(('${today}'::date - done_on)::text, 'never')
       || ', in time: ' || coalesce(done_in_time::text, 'open') as one
     from safety.due_followups where account_id = 'due' and assignee_key = 'due/p1' and form_id = 11 and followup_key = 'due/' || followup_id order by 1`,
  );
  expect(found.map(({ one }) => one)).toEqual([
    'in time: due 10, done 12, in time: true',
    'late, then moved: due 10, done 5, in time: false',
    'late: due 10, done 5, in time: false',
    'moved again: due 10, done never, in time: false',
    'moved again: due 2, done never, in time: false',
    'moved again: due 20, done never, in time: false',
    'moved in advance: due 3, done never, in time: false',
    'moved too late: due 10, done never, in time: false',
    'moved too late: due 3, done 3, in time: true',
    'never: due 10, done never, in time: false',
    'today: due 0, done never, in time: open',
  ]);
});

test('training_matrix has one row for each training that is assigned to an employee or completed', async () => {
  const day = (offset: number) => daysAfter(today, offset);
  const quoted = (value: string | null) => (value === null ? 'null' : `'${value}'`);
  const [past, soon] = [-1, 2];
  /** The lists with the training; of its completion the days to both expiry dates and is_required; the expected row. */
  const cases: readonly (readonly [
    lists: string,
    completion: readonly [number | null, number | null, boolean | null] | null,
    state: string,
    isRequired: boolean | null,
  ])[] = [
    ['complete', null, 'complete', true],
    ['incomplete', null, 'missing', true],
    ['complete', [soon, 0, false], 'expiring', false],
    ['complete', [0, past, null], 'expiring', true],
    ['complete', [past, past, true], 'expired', true],
    ['incomplete', [soon, past, false], 'missing', false],
    ['', [soon, null, null], 'complete', null],
    ['', [soon, past, true], 'expiring', true],
  ];
  const idsOf = (list: string) =>
    cases.flatMap(([lists], at) => (lists.split(' ').includes(list) ? [at] : [])).join(',');
  const completions = cases.flatMap(([, completion], at) => {
    if (completion === null) return [];
    const [expires = null, expiring = null] = completion.map((one) =>
      typeof one === 'number' ? day(one) : null,
    );
    return [`('a', 'u', ${at}, '2026-01-01', ${quoted(expires)}, ${quoted(expiring)}, ${completion[2]})`];
  });
  await store([
    `insert into safety.labels values ('a', 'training', '7', 'First aid', null)`,
    `insert into safety.training_employee_status (account_id, user_id, complete_training_ids, incomplete_training_ids, _synced_at, _deleted_at, _run_id)
     values ('a', 'u', '{${idsOf('complete')}}', '{${idsOf('incomplete')}}', now(), null, 1), ('a', 'deleted', '{1}', '{2}', now(), now(), 1),
       ('a', 'without lists', null, null, now(), null, 1)`,
    `insert into safety.training_completions values ${completions.join(', ')}, ('a', 'deleted', 3, '2026-01-01', null, null, true)`,
  ]);
  const expected = cases.map(([lists, completion, state, isRequired], at): Row => {
    const expires = completion?.[0] ?? null;
    return {
      user_id: 'u',
      training_id: String(at),
      state,
      is_required: isRequired === null ? null : String(isRequired),
      expires_on: expires === null ? null : day(expires),
      days_until_expiry: expires === null ? null : String(expires),
      is_assigned: String(lists !== ''),
      completed_on: completion === null ? null : '2026-01-01',
      training_label: at === 7 ? 'First aid' : String(at),
      user_key: 'a/u',
    };
  });
  expect(await read('training_matrix', Object.keys(expected[0] ?? {}))).toEqual(sorted(expected));
});
