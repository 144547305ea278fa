/** The views of facts against an independent computation over random pasts. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Connection, openConnection } from '../../src/engine/database/connection.ts';
import { compareStates } from '../../src/engine/history/followup-figures.ts';
import { writeReportingTimezones } from '../../src/engine/history/reporting.ts';
import { dayNumber, dayOf } from '../support/expected-views.ts';
import { fillDifferences } from '../support/fill-differences.ts';
import { type PastFollowup, randomFollowup, storePast } from '../support/random-past.ts';
import { createRandom } from '../support/seeded-random.ts';
import { createTestDatabase, type TestDatabase } from '../support/test-database.ts';

/** More than half a year, so that a clock change lies in it. */
const DAYS = 200;
const TIMEZONE = 'America/New_York';
const NOW_MS = Date.now();

type Row = Readonly<Record<string, string | null>>;

let database: TestDatabase;
let connection: Connection;
beforeAll(async () => {
  database = await createTestDatabase();
  connection = openConnection({ url: database.url, applicationName: 'test', max: 1 });
  await writeReportingTimezones(connection.db, [{ accountId: 'a', timezone: TIMEZONE }]);
});
afterAll(async () => {
  await connection.close();
  await database.drop();
});

async function store(statements: readonly string[]): Promise<void> {
  await connection.query(`do $$ begin ${statements.join('; ')}; end $$`);
}

/** As text, times as ISO. */
async function read(view: string, columns: readonly string[], where = 'true'): Promise<string[]> {
  const typed = columns.map((column) =>
    column.endsWith('_at')
      ? `to_char(${column} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as ${column}`
      : `${column}::text`,
  );
  const rows = await connection.query<Row>(`select ${typed.join(', ')} from safety.${view} where ${where}`);
  return sorted(rows);
}
const sorted = (rows: readonly Row[]): string[] =>
  rows.map((row) => JSON.stringify(Object.entries(row).toSorted(([a], [b]) => (a < b ? -1 : 1)))).toSorted();

const iso = (ms: number): string => new Date(ms).toISOString();
const localDay = (ms: number): string => dayOf(String(ms), TIMEZONE) ?? '';
const today = localDay(NOW_MS);
const daysBetween = (from: string, to: string): number => dayNumber(to) - dayNumber(from);

function randomPasts(seed: number, count: number): PastFollowup[] {
  const random = createRandom(seed);
  return Array.from({ length: count }, (_, index) =>
    randomFollowup(`f${index}`, { random, nowMs: NOW_MS, days: DAYS }),
  );
}

describe('follow-ups', () => {
  const followups = randomPasts(11, 150);
  const live = followups.filter(({ deleted }) => deleted === null);
  beforeAll(async () => {
    await store(followups.flatMap((one) => storePast('a', one)));
    await fillDifferences(connection);
    await store([
      `insert into safety.labels values ('a', 'form', '11', 'Near miss', null), ('b', 'form', '12', 'Not ours', null)`,
      `insert into safety.users (account_id, id, name, _synced_at, _run_id) values ('a', 'p1', 'Ada', now(), 1)`,
    ]);
  });

  function eventsOf({ id, created, observer, states, messages }: PastFollowup): Row[] {
    const event = (
      name: string,
      at: number,
      { user = null as string | null, from = null as string | null, to = null as string | null } = {},
    ) => ({
      followup_id: id,
      event: name,
      occurred_at: iso(at),
      occurred_on: localDay(at),
      user_id: user,
      from_value: from,
      to_value: to,
      user_name: user === 'p1' ? 'Ada' : null,
      followup_key: `a/${id}`,
    });
    const events = [event('raised', created, { user: observer })];
    let holder: string | null = null;
    for (const { sent, user, reassignee } of messages) {
      events.push(event('message', sent, { user }));
      if (reassignee === null) continue;
      events.push(event('handed_on', sent, { user, from: holder, to: reassignee }));
      holder = reassignee;
    }
    states.forEach((state, index) => {
      const before = states[index - 1];
      if (before !== undefined && before.due !== state.due) {
        events.push(event('due_moved', state.from, { from: before.due, to: state.due }));
      }
      if (state.isOpen === false && before?.isOpen !== false) {
        // The present closing has the completion and the completer that the source has now.
        const isPresent = states.slice(index).every(({ isOpen }) => isOpen === false);
        const { resolved, completer } = (isPresent ? states.at(-1) : state) ?? state;
        events.push(event('closed', resolved ?? state.resolved ?? state.from, { user: completer }));
      }
      if (state.isOpen === true && before?.isOpen === false) events.push(event('reopened', state.from));
    });
    return events;
  }

  test('followup_events has the events of each live follow-up with their times', async () => {
    const expected = live.flatMap(eventsOf);
    expect(new Set(expected.map(({ event }) => event)).size).toBe(6);
    expect(await read('followup_events', Object.keys(expected[0] ?? {}))).toEqual(sorted(expected));
  });

  test('values computed from the states equal those of an upgrade, and are not written again', async () => {
    const stored = () =>
      connection.query<Row>(
        `select id, xmin::text, _was_open, _due_moved, _due_before, _due_changes, _reopen_count, _first_due from safety.followups order by 1`,
      );
    const before = await stored();
    await compareStates(connection.db, 'a', { syncedAt: 'now' });
    expect(await stored()).toEqual(before);
    await connection.query(
      `update safety.followups set _was_open = null, _due_moved = true, _due_before = null, _due_changes = 9, _reopen_count = 9, _first_due = '1999-01-01'
       where id in (select id from safety.followup_states)`,
    );
    await connection.query(
      'update safety.followup_states set _was_open = null, _due_moved = false, _due_before = null',
    );
    await compareStates(connection.db, 'a', { syncedAt: 'now' });
    const withoutVersion = (rows: readonly Row[]) => rows.map((row) => ({ ...row, xmin: '' }));
    expect(withoutVersion(await stored())).toEqual(withoutVersion(before));
  });

  test('followup_overview counts what happened to each, and how late it is', async () => {
    const bucketOf = (age: number) =>
      age <= 7 ? '00-07' : age <= 30 ? '08-30' : age <= 60 ? '31-60' : age <= 90 ? '61-90' : '91+';
    const expected = live.map((one): Row => {
      const { id, created, observer, states, messages } = one;
      const events = eventsOf(one).map(({ event }) => event);
      const present = states.at(-1);
      const { isOpen = null, due = null, resolved = null, form = null, assignee = null } = present ?? {};
      const late = due === null ? null : daysBetween(due, today);
      const age = daysBetween(localDay(created), today);
      const response = messages.find(({ user }) => user !== observer)?.sent;
      const text = (value: number | boolean | null) => (value === null ? null : String(value));
      return {
        id,
        created_on: localDay(created),
        resolved_on: isOpen === true || resolved === null ? null : localDay(resolved),
        resolved_at: isOpen === true || resolved === null ? null : iso(resolved),
        days_to_resolve: text(
          isOpen === true || resolved === null
            ? null
            : Math.max(0, daysBetween(localDay(created), localDay(resolved))),
        ),
        form_label: form === '11' ? 'Near miss' : form,
        days_until_due: text(isOpen === true && late !== null ? -late : null),
        days_overdue: text(isOpen === true && late !== null && late > 0 ? late : null),
        age_bucket: isOpen === true ? bucketOf(age) : null,
        closed_in_time:
          isOpen === false && resolved !== null && due !== null ? text(localDay(resolved) <= due) : null,
        message_count: text(messages.length),
        reassignment_count: text(messages.filter(({ reassignee }) => reassignee !== null).length),
        last_message_at: messages.length === 0 ? null : iso(Math.max(...messages.map(({ sent }) => sent))),
        first_response_at: response === undefined ? null : iso(response),
        first_response_on: response === undefined ? null : localDay(response),
        due_changes: text(events.filter((event) => event === 'due_moved').length),
        reopen_count: text(events.filter((event) => event === 'reopened').length),
        first_due_on: states[0]?.due ?? null,
        followup_key: `a/${id}`,
        assignee_key: assignee === null ? null : `a/${assignee}`,
      };
    });
    expect(expected.some((row) => Number(row['due_changes']) > 1)).toBe(true);
    expect(live.some(({ states }) => states.at(0)?.due === null && states.at(-1)?.due !== null)).toBe(true);
    expect(expected.some((row) => Number(row['reopen_count']) > 1)).toBe(true);
    expect(
      live.some(({ states }) => states.at(-1)?.isOpen === true && states.at(-1)?.resolved !== null),
    ).toBe(true);
    expect(
      live.some(({ states }) => states.at(-1)?.isOpen === false && states.at(-2)?.isOpen === false),
    ).toBe(true);
    expect(await read('followup_overview', Object.keys(expected[0] ?? {}))).toEqual(sorted(expected));
  });
});

test('inspection_completions has each completed inspection, and whether it was in time', async () => {
  const random = createRandom(5);
  const DAY_MS = 86_400_000;
  const statements: string[] = [
    `insert into safety.labels values ('a', 'schedule', 's1', 'Annual', null), ('a', 'equipment_type', '21', 'Crane', null)`,
  ];
  const expected: Row[] = [];
  for (let index = 0; index < 40; index += 1) {
    const id = `e${index}`;
    const isDeleted = random.below(6) === 0;
    statements.push(
      `insert into safety.equipment (account_id, id, title, equipment_type_id, _synced_at, _deleted_at, _run_id)
       values ('a', '${id}', 'T ${id}', '${random.below(2) === 0 ? '21' : '22'}', now(), ${isDeleted ? 'now()' : 'null'}, 1)`,
    );
    let from = NOW_MS - DAYS * DAY_MS;
    let completed: number | null = random.below(2) === 0 ? null : from - random.below(50 * DAY_MS);
    let due: number | null = random.below(4) === 0 ? null : from + random.below(20 * DAY_MS);
    const states: { completed: number | null; due: number | null; from: number }[] = [];
    const count = 1 + random.below(5);
    for (let state = 0; state < count; state += 1) {
      states.push({ completed, due, from });
      const to = from + 1 + random.below(40 * DAY_MS);
      const given = `'a', '${id}', 's1', ${due === null ? 'null' : `'${iso(due)}'`}, ${completed === null ? 'null' : `'${iso(completed)}'`}, '${iso(from)}'`;
      statements.push(
        state === count - 1
          ? `insert into safety.equipment_schedules (account_id, equipment_id, schedule_id, expires_at, last_completed_at, _valid_from) values (${given})`
          : `insert into safety.equipment_schedule_states (account_id, equipment_id, schedule_id, expires_at, last_completed_at, valid_from, valid_to) values (${given}, '${iso(to)}')`,
      );
      // Done, put right to an earlier time, taken back to none, or only the date of expiry moved.
      const what = random.below(6);
      if (what < 3) completed = to - random.below(5 * DAY_MS);
      else if (what === 3 && completed !== null) completed -= DAY_MS;
      else if (what === 4) completed = null;
      due = random.below(5) === 0 ? null : to + random.below(60 * DAY_MS) - 10 * DAY_MS;
      from = to;
    }
    if (isDeleted) continue;
    const doneOf = (one: { completed: number | null }) => one.completed ?? -Infinity;
    const kept = states.filter((one, at) => states.slice(at).every((after) => doneOf(after) >= doneOf(one)));
    for (const [at, one] of kept.entries()) {
      const before = kept[at - 1];
      if (one.completed === null || (before !== undefined && one.completed <= doneOf(before))) continue;
      const wasDue = before?.due ?? null;
      const [on, dueOn] = [localDay(one.completed), wasDue === null ? null : localDay(wasDue)];
      expected.push({
        equipment_id: id,
        schedule_id: 's1',
        completed_at: iso(one.completed),
        completed_on: on,
        was_due_at: wasDue === null ? null : iso(wasDue),
        was_due_on: dueOn,
        days_late: dueOn === null ? null : String(Math.max(0, daysBetween(dueOn, on))),
        in_time: dueOn === null ? null : String(on <= dueOn),
        schedule_label: 'Annual',
        title: `T ${id}`,
        equipment_key: `a/${id}`,
      });
    }
  }
  await store(statements);
  for (const known of [null, 'true', 'false'])
    expect(expected.some((row) => row['in_time'] === known)).toBe(true);
  expect(await read('inspection_completions', Object.keys(expected[0] ?? {}))).toEqual(sorted(expected));
});

test('an inspection that was corrected or taken back at the source is shown as it is now, and later ones are not lost', async () => {
  const day = (text: string) => (text === '' ? 'null' : `'${text}T10:00:00Z'`);
  // Per state: seen on, done on, due on.
  const cases: Record<string, [string, string, string][]> = {
    'typed with a wrong year': [
      ['2026-03-01', '2025-03-14', '2026-03-14'],
      ['2026-03-25', '2027-03-25', '2027-06-25'],
      ['2026-03-26', '2026-03-25', '2026-06-25'],
      ['2026-06-28', '2026-06-28', '2026-09-28'],
      ['2026-10-05', '2026-10-05', '2027-01-05'],
    ],
    'taken back, done later': [
      ['2026-03-01', '2025-03-10', '2026-03-10'],
      ['2026-03-06', '2026-03-05', '2027-03-05'],
      ['2026-03-08', '2025-03-10', '2026-03-10'],
      ['2026-03-15', '2026-03-12', '2027-03-12'],
    ],
    'corrected backward': [
      ['2026-03-01', '2025-03-10', '2026-03-10'],
      ['2026-03-06', '2026-03-05', '2027-03-05'],
      ['2026-03-08', '2026-03-04', '2027-03-04'],
    ],
    'corrected forward': [
      ['2026-03-01', '2025-03-10', '2026-03-04'],
      ['2026-03-08', '2026-03-07', '2027-03-07'],
      ['2026-03-09', '2026-03-08', '2027-03-08'],
    ],
    'taken back to none': [
      ['2026-03-01', '', '2026-03-10'],
      ['2026-03-06', '2026-03-05', '2027-03-05'],
      ['2026-03-08', '', '2026-03-10'],
    ],
  };
  await store(
    Object.entries(cases).flatMap(([id, states]) => [
      `insert into safety.equipment (account_id, id, _synced_at, _run_id) values ('corrected', '${id}', now(), 1)`,
      ...states.map(([seen, done, due], at) => {
        const [next] = states[at + 1] ?? [];
        const table = next === undefined ? 'equipment_schedules' : 'equipment_schedule_states';
        const until = next === undefined ? ['_valid_from', ''] : ['valid_from, valid_to', `, ${day(next)}`];
        return `insert into safety.${table} (account_id, equipment_id, schedule_id, last_completed_at, expires_at, ${until[0]})
          values ('corrected', '${id}', 's1', ${day(done)}, ${day(due)}, ${day(seen)}${until[1]})`;
      }),
    ]),
  );
  const rows = await connection.query<{ id: string; done: string; late: number | null }>(
    `select equipment_id as id, completed_on::text as done, days_late as late from safety.inspection_completions
     where account_id = 'corrected' order by 1, 2`,
  );
  expect(
    rows.map(
      ({ id, done, late }) => `${id}: ${done}, ${late === null ? 'not known when due' : `${late} days late`}`,
    ),
  ).toEqual([
    'corrected backward: 2025-03-10, not known when due',
    'corrected backward: 2026-03-04, 0 days late',
    'corrected forward: 2025-03-10, not known when due',
    'corrected forward: 2026-03-07, 3 days late',
    'corrected forward: 2026-03-08, 0 days late',
    'taken back, done later: 2025-03-10, not known when due',
    'taken back, done later: 2026-03-12, 2 days late',
    'typed with a wrong year: 2025-03-14, not known when due',
    'typed with a wrong year: 2026-03-25, 11 days late',
    'typed with a wrong year: 2026-06-28, 3 days late',
    'typed with a wrong year: 2026-10-05, 7 days late',
  ]);
});

test('training_matrix has one row for each training that an employee is assigned or has completed', async () => {
  const random = createRandom(23);
  const statements: string[] = [`insert into safety.labels values ('a', 'training', '7', 'First aid', null)`];
  const expected: Row[] = [];
  const day = (offset: number) =>
    new Date((dayNumber(today) + offset) * 86_400_000).toISOString().slice(0, 10);
  for (let index = 0; index < 40; index += 1) {
    const user = `u${index}`;
    const isDeleted = random.below(8) === 0;
    const lists: Record<'complete' | 'incomplete', string[]> = { complete: [], incomplete: [] };
    const rows: Row[] = [];
    const completions: string[] = [];
    for (const training of ['7', '8', '9', '10', '11']) {
      const listed = random.pick(['complete', 'incomplete', 'both', 'none', 'none'] as const);
      if (listed === 'complete' || listed === 'both') lists.complete.push(training);
      if (listed === 'incomplete' || listed === 'both') lists.incomplete.push(training);
      const hasCompletion = random.below(2) === 0;
      if (listed === 'none' && !hasCompletion) continue;
      const expires = hasCompletion && random.below(4) > 0 ? day(random.below(5) - 2) : null;
      const expiring = expires === null ? null : day(random.below(3) - 2);
      const required = hasCompletion ? random.pick([null, 'true', 'false']) : null;
      const quoted = (value: string | null) => (value === null ? 'null' : `'${value}'`);
      if (hasCompletion) {
        completions.push(
          `insert into safety.training_completions values ('a', '${user}', ${training}, '2026-01-01', ${quoted(expires)}, ${quoted(expiring)}, ${required ?? 'null'})`,
        );
      }
      const isComplete = listed === 'complete' || listed === 'none';
      rows.push({
        user_id: user,
        training_id: training,
        state:
          expires !== null && expires < today
            ? 'expired'
            : !isComplete
              ? 'missing'
              : expiring !== null && expiring <= today
                ? 'expiring'
                : 'complete',
        is_required: required ?? (listed === 'none' ? null : 'true'),
        expires_on: expires,
        days_until_expiry: expires === null ? null : String(daysBetween(today, expires)),
        is_assigned: String(listed !== 'none'),
        completed_on: hasCompletion ? '2026-01-01' : null,
        training_label: training === '7' ? 'First aid' : training,
        user_key: `a/${user}`,
      });
    }
    const array = (ids: readonly string[]) =>
      ids.length === 0 && random.below(2) === 0 ? 'null' : `'{${ids.join(',')}}'`;
    statements.push(
      `insert into safety.training_employee_status (account_id, user_id, complete_training_ids, incomplete_training_ids, _synced_at, _deleted_at, _run_id)
       values ('a', '${user}', ${array(lists.complete)}, ${array(lists.incomplete)}, now(), ${isDeleted ? 'now()' : 'null'}, 1)`,
      ...completions,
    );
    if (!isDeleted) expected.push(...rows);
  }
  await store(statements);
  expect(new Set(expected.map(({ state }) => state)).size).toBe(4);
  expect(await read('training_matrix', Object.keys(expected[0] ?? {}))).toEqual(sorted(expected));
});
