/** What a star of relations needs beside the facts: accounts, groups, areas, who has what to do, and links to records. */
import { expect, test } from 'vitest';
import { writeRecordUrls } from '../../src/warehouse/view-settings.ts';
import { forEachTest } from '../support/lifetime.ts';
import { createTestWorker } from '../support/worker.ts';

const worker = forEachTest(() => createTestWorker());
const query = (text: string) => worker.query(text);

/** Adds a row with these columns to a table of the account. */
async function add(table: string, row: Readonly<Record<string, unknown>>): Promise<void> {
  const columns = { account_id: 'default', ...row };
  await query(`insert into ${table} (${Object.keys(columns).join(', ')})
    select ${Object.keys(columns).join(', ')} from jsonb_populate_record(null::${table}, '${JSON.stringify(columns)}')`);
}
const entity = { _run_id: 1, _synced_at: '2026-01-01', _valid_from: '2026-01-01' };

const addName = (kind: string, id: string, name: string) =>
  add('safety.names', { _key: `${kind}:${id}`, kind, id, name, _run_id: 1, _synced_at: '2026-01-01' });
const addUser = (id: string, more: object = {}) =>
  add('safety.users', { id, name: `Name of ${id}`, _run_id: 1, _synced_at: '2026-01-01', ...more });

test('a parent groups ids that only the service names, in views of forms and offices', async () => {
  await addName('form', '7', 'Yard check');
  await addName('field_office', 'o1', 'Harbour');
  await add('safety.labels', { kind: 'form', id: 'checks', label: 'Checks' });
  await add('safety.labels', { kind: 'form', id: '7', parent_id: 'checks' });
  await add('safety.labels', { kind: 'field_office', id: 'o1', parent_id: 'north' });
  await add('safety.followups', { id: 'f', form_id: 7, is_open: true, ...entity });
  await add('safety.equipment', { id: 'e', field_office_ids: ['o1'], ...entity });
  expect(await query('select form_label, form_group, form_key from safety.followup_overview')).toEqual([
    { form_label: 'Yard check', form_group: 'Checks', form_key: 'default/7' },
  ]);
  expect(
    await query(
      'select field_office_label, field_office_group, field_office_key from safety.equipment_field_offices',
    ),
  ).toEqual([{ field_office_label: 'Harbour', field_office_group: 'north', field_office_key: 'default/o1' }]);
});

test('a follow-up shows its notes, who is responsible, and the offices and supervisor of the assignee', async () => {
  await addName('field_office', 'o1', 'Harbour');
  await addUser('u', { field_office_ids: ['o1', 'o2'], supervisor_id: 's' });
  await addUser('s');
  await add('safety.followups', { id: 'f', is_open: true, assignee_id: 'u', ...entity });
  for (const [position, note] of ['found', 'asked', 'done'].entries())
    await add('safety.followup_messages', {
      followup_id: 'f',
      id: `m${position}`,
      position: position + 1,
      note,
    });
  await add('safety.equipment', {
    id: 'e',
    field_office_ids: ['o1'],
    ...entity,
    assigned_user_ids: ['u', 'x'],
  });
  expect(
    await query(
      'select first_note, last_note, responsible_name, field_offices, supervisor_name from safety.followup_overview',
    ),
  ).toEqual([
    {
      first_note: 'found',
      last_note: 'done',
      responsible_name: 'Name of u',
      field_offices: 'Harbour, o2',
      supervisor_name: 'Name of s',
    },
  ]);
  expect(await query('select field_offices, responsible_name from safety.equipment_overview')).toEqual([
    { field_offices: 'Harbour', responsible_name: 'Name of u, x' },
  ]);
});

test('a link has the ids that its template names, and is null where one is unknown', async () => {
  await add('safety.followups', { id: 'f', form_id: 7, response_id: 9, ...entity });
  await add('safety.followups', { id: 'g', form_id: 7, ...entity });
  await add('safety.reporting_settings', { timezone: 'UTC', changed_at: '2026-01-01' });
  const urls = async (followup: string) => {
    await writeRecordUrls(worker.connection.db, ['default'], { followup });
    return (await query('select record_url from safety.followup_overview order by id')).map(
      (row) => row['record_url'],
    );
  };
  expect(await urls('https://s.example/f/{form_id}/r/{response_id}')).toEqual([
    'https://s.example/f/7/r/9',
    null,
  ]);
  expect(await urls('https://s.example/{id}')).toEqual(['https://s.example/f', 'https://s.example/g']);
});

test('compliance by area leaves leavers out, and who has to do what includes the open window of the year', async () => {
  await addUser('here', { field_office_ids: ['o1'], job_title_id: 'j' });
  await addUser('there', { field_office_ids: ['o1'] });
  await addUser('left', { field_office_ids: ['o1'], terminated_on: '2020-01-01' });
  await add('safety.labels', { kind: 'field_office', id: 'o1', label: 'Harbour', parent_id: 'north' });
  const status = { calculated_at: '2026-01-01', ...entity };
  await add('safety.training_employee_status', {
    ...{ user_id: 'here', status: 'active', complete_training_ids: [1, 2] },
    ...status,
  });
  await add('safety.training_employee_status', {
    ...{ user_id: 'there', status: 'incomplete', incomplete_training_ids: [1], complete_training_ids: [3] },
    ...status,
  });
  await add('safety.training_employee_status', {
    user_id: 'left',
    status: 'incomplete',
    incomplete_training_ids: [1],
    ...status,
  });
  const completion = { is_required: true, _valid_from: '2026-01-01' };
  await add('safety.training_completions', {
    user_id: 'here',
    training_id: 1,
    completed_on: '2020-05-01',
    ...completion,
  });
  await add('safety.training_completions', {
    user_id: 'there',
    training_id: 3,
    expires_on: '2020-05-01',
    ...completion,
  });
  await add('safety.names', {
    ...{
      _key: 'training:1',
      kind: 'training',
      id: '1',
      name: 'Yearly',
      _run_id: 1,
      _synced_at: '2026-01-01',
    },
    _raw: { window_open_month: '1', window_open_day: '1', window_close_month: '12', window_close_day: '31' },
  });
  expect(
    await query(
      'select area_kind, area, area_group, people, compliant, share from safety.training_compliance_by_area order by 1',
    ),
  ).toEqual([
    {
      area_kind: 'field_office',
      area: 'Harbour',
      area_group: 'north',
      people: '2',
      compliant: '1',
      share: '0.5000',
    },
    { area_kind: 'job_title', area: 'j', area_group: null, people: '1', compliant: '1', share: '1.0000' },
  ]);
  const year = new Date().getUTCFullYear();
  expect(
    await query(
      `select user_id, training_key, reason, due_on::text as due_on from safety.training_due where user_id <> 'left' order by 1, 2`,
    ),
  ).toEqual([
    { user_id: 'here', training_key: 'default/1', reason: 'window', due_on: `${year}-12-31` },
    { user_id: 'there', training_key: 'default/1', reason: 'missing', due_on: `${year}-12-31` },
    { user_id: 'there', training_key: 'default/3', reason: 'expired', due_on: '2020-05-01' },
  ]);
  expect(
    await query(
      `select missing_trainings, field_office, is_active from safety.training_compliance where user_id in ('there', 'left') order by user_id`,
    ),
  ).toEqual([
    { missing_trainings: 'Yearly', field_office: 'Harbour', is_active: false },
    { missing_trainings: '3, Yearly', field_office: 'Harbour', is_active: true },
  ]);
});

test('accounts have the name at the service, their time zone, today and the first observed day', async () => {
  await add('safety_sync.sources', { address: 'https://s.example', service_name: 'North Ltd' });
  await add('safety.reporting_settings', { timezone: 'Pacific/Kiritimati', changed_at: '2026-01-01' });
  await add('safety.counted_days', {
    ...{
      stream: 'followups',
      timezone: 'UTC',
      history_from: '2026-01-02',
      counted_to: '2026-01-03',
      counted: '{}',
    },
  });
  expect(
    await query(`select account_id, name, timezone, history_from::text as since from safety.accounts`),
  ).toEqual([
    { account_id: 'default', name: 'North Ltd', timezone: 'Pacific/Kiritimati', since: '2026-01-02' },
  ]);
});
