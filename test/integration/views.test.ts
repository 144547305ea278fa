/** The views: golden rows of small accounts, and what holds for every column of a kind. */
import { expect, test } from 'vitest';
import { LABEL_KINDS } from '../../src/warehouse/labels.ts';
import { writeViewSettings } from '../../src/warehouse/view-settings.ts';
import { countStored } from '../support/count-days.ts';
import { forAllTests } from '../support/lifetime.ts';
import { findKeysWithoutPerson, readPersonColumns } from '../support/people-keys.ts';
import { addTo } from '../support/story.ts';
import { sumMessages } from '../support/sum-messages.ts';
import { createSyncedWorker } from '../support/world.ts';

/** 14 hours before UTC: most moments are on another day there. */
const ZONE = 'Pacific/Kiritimati';
/** Days ago, there. */
const ago = (days: number): string =>
  new Date(Date.now() + (14 - 24 * days) * 3_600_000).toISOString().slice(0, 10);
/** An hour after its midnight. */
const at = (days: number): string => `${ago(days)}T01:00:00+14:00`;

const worker = forAllTests(() => createSyncedWorker());
const query = (text: string) => worker.query(text);
/** A new account with days of that zone. */
async function account(name: string) {
  await writeViewSettings(worker.connection.db, [{ accountId: name, timezone: ZONE }]);
  /** The columns of a view's rows, as text and in order. */
  const rows = async (view: string, columns: string): Promise<string[]> => {
    const texts = columns.split(' ').map((column) => `coalesce(${column}::text, '-')`);
    const found = await query(
      `select concat_ws(' | ', ${texts.join(', ')}) as row from safety.${view} where account_id = '${name}' order by 1`,
    );
    return found.map(({ row }) => String(row));
  };
  return { add: addTo(worker.connection, name), rows };
}

test('followup_overview shows ages, days, names, notes, messages, and what belongs to assignee and form', async () => {
  const { add, rows } = await account('followups');
  await add('safety.names', { _key: 'form:7', kind: 'form', id: '7', name: 'Yard check' });
  await add('safety.names', { _key: 'field_office:o1', kind: 'field_office', id: 'o1', name: 'Harbour' });
  await add('safety.labels', { kind: 'form', id: '7', parent_id: 'checks' });
  await add('safety.users', { id: 'u', name: 'Ada', field_office_ids: ['o1', 'o2'], supervisor_id: 's' });
  await add('safety.users', { id: 's', name: 'Sam' });
  const open = { form_id: 7, is_open: true, observer_id: 's', assigner_id: 's' };
  await add(
    'safety.followups',
    { ...open, id: 'late', assignee_id: 'u', created_at: at(40), due_on: ago(3) },
    { ...open, id: 'new', assignee_id: 'x', created_at: at(0), due_on: ago(0) },
    { ...open, id: 'gone', created_at: at(9), _deleted_at: at(1) },
    { ...open, id: 'done', is_open: false, created_at: at(20), due_on: ago(8), resolved_at: at(10) },
  );
  const message = { followup_id: 'late', user_id: 's' };
  await add(
    'safety.followup_messages',
    { ...message, id: 'a', position: 1, sent_at: at(40), note: 'found' },
    { ...message, id: 'b', position: 2, sent_at: at(30), note: 'asked', user_id: 'u', reassignee_id: 'u' },
    { ...message, id: 'c', position: 3, sent_at: at(20), note: 'sent' },
  );
  await sumMessages(worker.connection);
  const times =
    'id is_overdue age_days age_bucket days_until_due days_overdue days_to_resolve closed_in_time';
  expect(await rows('followup_overview', `${times} created_on resolved_on`)).toEqual([
    `done | false | - | - | - | - | 10 | true | ${ago(20)} | ${ago(10)}`,
    `late | true | 40 | 31-60 | -3 | 3 | - | - | ${ago(40)} | -`,
    `new | false | 0 | 00-07 | 0 | - | - | - | ${ago(0)} | -`,
  ]);
  const people = 'id observer_name assignee_name responsible_name field_offices supervisor_name';
  expect(await rows('followup_overview', `${people} form_label form_group form_key`)).toEqual([
    'done | Sam | - | Sam | - | - | Yard check | checks | followups/7',
    'late | Sam | Ada | Ada | Harbour, o2 | Sam | Yard check | checks | followups/7',
    'new | Sam | - | x | - | - | Yard check | checks | followups/7',
  ]);
  const messages =
    'id first_note last_note message_count reassignment_count last_message_on first_response_on';
  expect(await rows('followup_overview', messages)).toContain(
    `late | found | sent | 3 | 1 | ${ago(20)} | ${ago(30)}`,
  );
});

test('followup_events has the events of each live follow-up; one that stays closed was closed as the source says now', async () => {
  const { add, rows } = await account('events');
  await add('safety.users', { id: 'u', name: 'Ada' });
  const open = { is_open: true, observer_id: 's', created_at: at(40), due_on: ago(9) };
  const closed = { ...open, is_open: false };
  await add(
    'safety.followups',
    { ...closed, id: 'f', due_on: ago(2), resolved_at: at(6), completer_id: 'u', _valid_from: at(5) },
    { ...closed, id: 'corrected', resolved_at: at(9), completer_id: 'u', _valid_from: at(7) },
    { ...open, id: 'open again', resolved_at: at(9), _valid_from: at(40) },
    { ...open, id: 'gone', _deleted_at: at(1) },
  );
  const state = (id: string, from: number, to: number, columns: object) => ({
    ...{ id, valid_from: at(from), valid_to: at(to) },
    ...columns,
  });
  await add(
    'safety.followup_states',
    state('f', 40, 30, open),
    state('f', 30, 20, { ...closed, resolved_at: at(31), completer_id: 'x' }),
    state('f', 20, 10, open),
    state('f', 10, 5, { ...open, due_on: ago(2) }),
    state('corrected', 40, 8, open),
    state('corrected', 8, 7, { ...closed, completer_id: 'x' }),
  );
  const message = { followup_id: 'f', user_id: 'u' };
  await add(
    'safety.followup_messages',
    { ...message, id: 'a', position: 1, sent_at: at(39), user_id: 's' },
    { ...message, id: 'b', position: 2, sent_at: at(35), reassignee_id: 'u' },
    { ...message, id: 'c', position: 3, sent_at: at(33), reassignee_id: 'x' },
  );
  await sumMessages(worker.connection);
  const columns = 'followup_id occurred_on event user_id user_name from_value to_value followup_key';
  expect(await rows('followup_events', columns)).toEqual(
    [
      `corrected | ${ago(40)} | raised | s | - | - | - | events/corrected`,
      `corrected | ${ago(9)} | closed | u | Ada | - | - | events/corrected`,
      `f | ${ago(40)} | raised | s | - | - | - | events/f`,
      `f | ${ago(39)} | message | s | - | - | - | events/f`,
      `f | ${ago(35)} | message | u | Ada | - | - | events/f`,
      `f | ${ago(35)} | handed_on | u | Ada | - | u | events/f`,
      `f | ${ago(33)} | message | u | Ada | - | - | events/f`,
      `f | ${ago(33)} | handed_on | u | Ada | u | x | events/f`,
      `f | ${ago(31)} | closed | x | - | - | - | events/f`,
      `f | ${ago(20)} | reopened | - | - | - | - | events/f`,
      `f | ${ago(10)} | due_moved | - | - | ${ago(9)} | ${ago(2)} | events/f`,
      `f | ${ago(6)} | closed | u | Ada | - | - | events/f`,
      `open again | ${ago(40)} | raised | s | - | - | - | events/open again`,
    ].toSorted(),
  );
  const counts =
    'id first_due_on due_changes reopen_count closed_in_time days_to_resolve message_count reassignment_count';
  expect(await rows('followup_overview', `${counts} resolved_on`)).toEqual([
    `corrected | ${ago(9)} | 0 | 0 | true | 31 | 0 | 0 | ${ago(9)}`,
    `f | ${ago(9)} | 1 | 1 | true | 34 | 3 | 2 | ${ago(6)}`,
    `open again | ${ago(9)} | 0 | 0 | - | - | 0 | 0 | -`,
  ]);
});

test('views with a row for each element, of equipment and of documents, show live parents alone', async () => {
  const { add, rows } = await account('elements');
  const lists = {
    field_office_ids: ['o', 'p'],
    client_ids: ['c'],
    project_ids: [4],
    assigned_user_ids: ['u', 'x'],
  };
  const piece = { title: 'Crane', equipment_type_id: 't', is_in_service: true, status: 'expired', ...lists };
  await add('safety.equipment', { id: 'e', ...piece }, { id: 'gone', ...piece, _deleted_at: at(1) });
  await add('safety.labels', { kind: 'field_office', id: 'o', label: 'Yard', parent_id: 'north' });
  await add('safety.labels', { kind: 'metafield_item', id: '9', label: 'Hook' });
  const field = (equipment_id: string, metafield_id: string, value: object) => ({
    equipment_id,
    metafield_id,
    ...value,
  });
  await add(
    'safety.equipment_metavalues',
    field('e', 'n', { number_value: 2.5 }),
    field('e', 'i', { item_ids: [9, 8] }),
    field('e', 'z', {}),
    field('gone', 'n', { number_value: 1 }),
  );
  const due = { equipment_id: 'e', status: 'expiring', last_completed_at: at(99) };
  await add(
    'safety.equipment_schedules',
    { ...due, schedule_id: 's', expires_at: at(-5) },
    { ...due, schedule_id: 'r' },
    { ...due, schedule_id: 's', equipment_id: 'gone' },
  );
  await add('safety.resources', { id: 'r', title: 'Rule', tags: ['a', 'b'] });
  await add('safety.resources', { id: 'gone', title: 'Rule', tags: ['a'], _deleted_at: at(1) });
  for (const [ordinal, is_current] of [false, true].entries())
    for (const resource_id of ['r', 'gone'])
      await add('safety.resource_versions', {
        ...{
          resource_id,
          ordinal: ordinal + 1,
          is_current,
          version: `v${ordinal}`,
          created_at: at(9 - ordinal),
        },
      });
  const expected: [view: string, columns: string, rows: string[]][] = [
    [
      'equipment_field_offices',
      'equipment_id field_office_id field_office_label field_office_group',
      ['e | o | Yard | north', 'e | p | p | -'],
    ],
    ['equipment_clients', 'equipment_id client_id', ['e | c']],
    ['equipment_projects', 'equipment_id project_id', ['e | 4']],
    ['equipment_assigned_users', 'equipment_id user_id', ['e | u', 'e | x']],
    [
      'equipment_overview',
      'id title status field_offices responsible_name',
      ['e | Crane | expired | Yard, p | u, x'],
    ],
    [
      'equipment_fields',
      'equipment_id title metafield_id number_value items is_empty',
      [
        'e | Crane | i | - | Hook, 8 | false',
        'e | Crane | n | 2.5 | - | false',
        'e | Crane | z | - | - | true',
      ],
    ],
    [
      'equipment_inspections',
      'equipment_id schedule_id status equipment_status days_until_expiry expires_on last_completed_on',
      [
        `e | r | expiring | expired | - | - | ${ago(99)}`,
        `e | s | expiring | expired | 5 | ${ago(-5)} | ${ago(99)}`,
      ],
    ],
    ['resource_tags', 'resource_id tag', ['r | a', 'r | b']],
    [
      'resource_version_overview',
      'resource_id title ordinal is_current version created_on age_days',
      [`r | Rule | 1 | false | v0 | ${ago(9)} | 9`, `r | Rule | 2 | true | v1 | ${ago(8)} | 8`],
    ],
    ['current_resource_versions', 'resource_id version', ['r | v1']],
  ];
  for (const [view, columns, wanted] of expected)
    expect([view, await rows(view, columns)]).toEqual([view, wanted]);
});

test('a link has the ids that its template names, and is null where one is unknown', async () => {
  const { add, rows } = await account('links');
  await add('safety.followups', { id: 'f', form_id: 7, response_id: 9 }, { id: 'g', form_id: 7 });
  const urls = async (followup: string) => {
    await writeViewSettings(worker.connection.db, [{ accountId: 'links', timezone: null }], { followup });
    return await rows('followup_overview', 'id record_url');
  };
  expect(await urls('https://s.example/f/{form_id}/r/{response_id}')).toEqual([
    'f | https://s.example/f/7/r/9',
    'g | -',
  ]);
  expect(await urls('https://s.example/{id}')).toEqual([
    'f | https://s.example/f',
    'g | https://s.example/g',
  ]);
});

test('compliance leaves leavers out by area, and what is due includes the open window of the year', async () => {
  const { add, rows } = await account('training');
  const office = { field_office_ids: ['o1'] };
  const offices = { field_office_ids: ['o1', 'o2'] };
  await add('safety.users', { id: 'here', ...offices, job_title_id: 'j' }, { id: 'there', ...office });
  await add('safety.users', { id: 'left', ...office, terminated_on: '2020-01-01' });
  // Two offices of one name are one area.
  for (const id of ['o1', 'o2'])
    await add('safety.labels', { kind: 'field_office', id, label: 'Harbour', parent_id: 'north' });
  const lacks = { status: 'incomplete', incomplete_training_ids: [1] };
  await add(
    'safety.training_employee_status',
    { user_id: 'here', status: 'active', complete_training_ids: [1, 2] },
    { user_id: 'there', ...lacks, complete_training_ids: [3] },
    { user_id: 'left', ...lacks },
  );
  const completion = { is_required: true, completed_on: '2019-05-01' };
  await add(
    'safety.training_completions',
    { ...completion, user_id: 'here', training_id: 1 },
    { ...completion, user_id: 'here', training_id: 2, starts_expiring_on: ago(5), expires_on: ago(-9) },
    { ...completion, user_id: 'there', training_id: 3, expires_on: '2020-05-01' },
  );
  const training = { _key: 'training:1', kind: 'training', id: '1', name: 'Yearly' };
  const months = { window_open_month: '1', window_close_month: '12' };
  const _raw = { ...months, window_open_day: '1', window_close_day: '31' };
  await add('safety.names', { ...training, _raw });
  const shares = 'area_kind area area_group people compliant share';
  expect(await rows('training_compliance_by_area', shares)).toEqual([
    'field_office | Harbour | north | 2 | 1 | 0.5000',
    'job_title | j | - | 1 | 1 | 1.0000',
  ]);
  const year = ago(0).slice(0, 4);
  expect(await rows('training_due', 'user_id training_key reason due_on')).toEqual([
    `here | training/1 | window | ${year}-12-31`,
    `here | training/2 | expiring | ${ago(-9)}`,
    `left | training/1 | missing | ${year}-12-31`,
    `there | training/1 | missing | ${year}-12-31`,
    'there | training/3 | expired | 2020-05-01',
  ]);
  const columns =
    'user_id is_compliant complete_count incomplete_count next_expires_on missing_trainings is_active';
  expect(await rows('training_compliance', `${columns} field_office`)).toEqual([
    `here | true | 2 | 0 | ${ago(-9)} | - | true | Harbour`,
    'left | false | 0 | 1 | - | Yearly | false | Harbour',
    'there | false | 1 | 1 | - | 3, Yearly | true | Harbour',
  ]);
});

test('days count the states at their end, in the time zone of the account, and carry the last one to today', async () => {
  const { add, rows } = await account('days');
  const was = { valid_from: at(3), valid_to: at(1) };
  await add('safety.training_employee_status', { user_id: 'u', status: 'active', _valid_from: at(1) });
  await add('safety.training_employee_status_states', { user_id: 'u', status: 'incomplete', ...was });
  await add('safety.equipment', { id: 'e', status: 'uptodate', is_in_service: false, _valid_from: at(1) });
  await add('safety.equipment_states', { id: 'e', status: 'expired', is_in_service: true, ...was });
  await countStored(worker.connection, ['days']);
  const counted = async (view: string, columns: string) =>
    (await rows(view, columns)).filter((row) => !row.endsWith(' 0') && !/ 0 \| 0$/.test(row));
  expect(await counted('training_status_daily', 'date status employees')).toEqual([
    ...[3, 2].map((days) => `${ago(days)} | incomplete | 1`),
    ...[1, 0].map((days) => `${ago(days)} | active | 1`),
  ]);
  expect(await rows('equipment_status_daily', 'date status equipment in_service')).toEqual(
    expect.arrayContaining([
      ...[3, 2].map((days) => `${ago(days)} | expired | 1 | 1`),
      ...[1, 0].map((days) => `${ago(days)} | uptodate | 1 | 0`),
    ]),
  );
});

test('accounts have the name at the service, their time zone, today and the first observed day', async () => {
  const { add, rows } = await account('named');
  await add('safety_sync.sources', { address: 'https://s.example', service_name: 'North Ltd' });
  await add('safety.counted_days', {
    ...{ stream: 'followups', timezone: 'UTC', history_from: '2026-01-02', counted_to: '2026-01-03' },
    counted: '{}',
  });
  expect(await rows('accounts', 'name timezone today history_from')).toEqual([
    `North Ltd | ${ZONE} | ${ago(0)} | 2026-01-02`,
  ]);
});

const readViewColumns = () =>
  worker.query<{ view: string; name: string; type: string }>(
    `select c.relname as view, a.attname as name, format_type(a.atttypid, null) as type
     from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0
     where c.relnamespace = 'safety'::regnamespace and c.relkind = 'v' order by 1, a.attnum`,
  );

test('every _at column of a view has an _on column with its local day', async () => {
  const columns = await readViewColumns();
  const times = columns.filter(
    ({ name, type }) => type === 'timestamp with time zone' && name.endsWith('_at'),
  );
  expect(times.length).toBeGreaterThan(20);
  for (const { view, name } of times) {
    const day = name.replace(/_at$/, '_on');
    expect(
      columns.some((one) => one.view === view && one.name === day),
      `${view}.${day}`,
    ).toBe(true);
    const wrong = await query(
      `select ${name}, ${day} from safety.${view} v join safety.reporting_settings s using (account_id)
       where ${day} is distinct from (${name} at time zone s.timezone)::date limit 1`,
    );
    expect(wrong, `${view}.${day}`).toEqual([]);
  }
});

test('every id of a label kind in a view has a _label column: the label, else the name, else the id', async () => {
  await addTo(worker.connection)('safety.labels', { kind: 'form', id: '1201', label: 'By hand' });
  const kinds = LABEL_KINDS.filter((kind) => kind !== 'metafield_item');
  const columns = (await readViewColumns()).filter(({ name }) => kinds.some((kind) => name === `${kind}_id`));
  expect(new Set(columns.map(({ name }) => name)).size).toBe(kinds.length);
  for (const { view, name } of columns) {
    const kind = name.replace(/_id$/, '');
    const wrong = await query(
      `select v.${name}, v.${kind}_label from safety.${view} v
       left join safety.labels l on l.account_id = v.account_id and l.kind = '${kind}' and l.id = v.${name}::text
       left join safety.names n on n.account_id = v.account_id and n.kind = '${kind}' and n.id = v.${name}::text
       where v.${kind}_label is distinct from coalesce(l.label, n.name, v.${name}::text) limit 1`,
    );
    expect(wrong, `${view}.${name}`).toEqual([]);
  }
  expect(await query(`select from safety.followup_overview where form_label = 'By hand'`)).not.toEqual([]);
});

test('every id of a person in a view has a name and a key column, and each key has a row in people', async () => {
  const columns = await readPersonColumns(worker);
  expect(new Set(columns.map(({ person }) => person))).toEqual(
    new Set(['assigned_user', 'assignee', 'assigner', 'completer', 'creator', 'observer', 'user']),
  );
  for (const { view, person } of columns) {
    const wrong = await query(
      `select v.${person}_id, v.${person}_name, v.${person}_key from safety.${view} v
       left join safety.users u on u.account_id = v.account_id and u.id = v.${person}_id
       where v.account_id = 'default' and (v.${person}_name is distinct from u.name
         or v.${person}_key is distinct from case when v.${person}_id <> '' then v.account_id || '/' || v.${person}_id end)`,
    );
    expect(wrong, `${view}.${person}_id`).toEqual([]);
  }
  const missing = await findKeysWithoutPerson(worker);
  expect(missing.filter((key) => key.includes(': default/'))).toEqual([]);
});
