/** Names of ids, and equipment types, from the lists that the service may have. */
import { expect, test } from 'vitest';
import { NAMING_LISTS } from '../../src/engine/streams/optional-methods.ts';
import { runFailure, type RunResult } from '../../src/engine/sync/run.ts';
import { readAccounts } from '../../src/operate/status/read-accounts.ts';
import type { Followup } from '../../src/sandbox/index.ts';
import { moveAccount } from '../../src/warehouse/change-account.ts';
import { SPECIMENS } from '../support/specimens.ts';
import {
  createSyncedWorker,
  createTestWorker,
  expectSucceeded,
  type TestWorker,
  type TestWorkerOptions,
} from '../support/world.ts';
import { untilTestEnds } from '../support/lifetime.ts';

const open = async (options: TestWorkerOptions = {}) => untilTestEnds(await createTestWorker(options));

/** The methods that were requested since the last call. */
function requested({ sandbox: { requests } }: TestWorker): string[] {
  const methods = requests.map(({ method }) => method);
  requests.splice(0);
  return methods;
}

async function count(worker: TestWorker, from: string): Promise<number> {
  const [row] = await worker.query<{ count: number }>(`select count(*)::int as count from ${from}`);
  return row?.count ?? 0;
}

/** As if this time had passed since every request. */
const later = (worker: TestWorker, interval: string) =>
  worker.query(`update safety_sync.optional_methods
    set asked_at = asked_at - interval '${interval}', read_at = read_at - interval '${interval}'`);

async function move(worker: TestWorker): Promise<void> {
  await worker.query(`insert into safety_sync.sources (account_id, address) values ('default', 'old')`);
  const asked = { accountId: 'default', source: { address: 'new', service_id: null, service_name: null } };
  await moveAccount(worker.databaseUrl, worker.connection.db, asked);
}

const sync = async (worker: TestWorker, trigger: 'schedule' | 'manual' = 'schedule'): Promise<RunResult> =>
  await worker.run('names', { trigger });

async function syncAfter(worker: TestWorker, interval: string): Promise<RunResult> {
  await later(worker, interval);
  return await sync(worker);
}

const lastSuccess = (worker: TestWorker) =>
  worker.query(`select last_success_at from safety_sync.stream_state where stream = 'names'`);

test('after the first sync every id has its name from the service, unless a person has given it a label', async () => {
  const worker = untilTestEnds(await createSyncedWorker());
  await worker.query(
    `insert into safety.labels (account_id, kind, id, label) values ('default', 'form', '1207', 'By hand')`,
  );
  const { lists } = worker.sandbox.store;
  const named = await worker.query<{ kind: string; count: number }>(
    'select kind, count(*)::int as count from safety.names where _deleted_at is null group by kind',
  );
  expect(Object.fromEntries(named.map((one) => [one.kind, one.count]))).toMatchObject({
    form: lists.forms.size,
    training: lists.trainings.size,
    field_office: lists.fieldoffices.size,
    line_of_business: lists.linesofbusiness.size,
    client: lists.companies.size,
    job_title: lists.jobtitles.size,
    role: lists.roles.size,
    project: lists.projects.size,
    equipment_type: lists.equipmenttypes.size,
    metafield_item: lists.datalistitems.size,
  });
  for (const [view, id, label] of [
    ['followup_overview', 'form_id', 'form_label'],
    ['training_matrix', 'training_id', 'training_label'],
    ['equipment_overview', 'equipment_type_id', 'equipment_type_label'],
    ['equipment_overview', 'line_of_business_id', 'line_of_business_label'],
    ['equipment_field_offices', 'field_office_id', 'field_office_label'],
    ['equipment_clients', 'client_id', 'client_label'],
    ['equipment_inspections', 'schedule_id', 'schedule_label'],
    ['equipment_fields', 'metafield_id', 'metafield_label'],
  ]) {
    expect(await count(worker, `safety.${view} where ${id} is not null`), view).toBeGreaterThan(0);
    expect(await count(worker, `safety.${view} where ${label} = ${id}::text`), view).toBe(0);
  }
  expect(
    await worker.query(`select form_label from safety.followup_overview where form_id = 1207 limit 1`),
  ).toEqual([{ form_label: 'By hand' }]);
  expect(await worker.query('select * from safety_sync.data_issues')).toEqual([]);
});

test('a protected column that a list lacks is null: most lists have no code', async () => {
  const privacy = { omit: [], pseudonymize: ['names.code'], key: 'a key that nobody else has, 32 or more' };
  const worker = await open({ privacy });
  expectSucceeded(await sync(worker));
  expect(await count(worker, `safety.names where code <> '' and code not like 'pseudonym:%'`)).toBe(0);
  expect(await count(worker, `safety.names where code like 'pseudonym:%'`)).toBeGreaterThan(0);
});

test('the lists give trainings, and types with their schedules and fields, and what the source deletes leaves these views only', async () => {
  const worker = await open();
  expectSucceeded(await sync(worker));
  const { trainings } = worker.sandbox.store.lists;
  const [training] = await worker.query<{ id: string }>('select * from safety.trainings order by id limit 1');
  const sent = trainings.get(String(training?.id)) as Record<string, unknown> | undefined;
  expect(training).toMatchObject({
    title: sent?.['title'],
    renewal_months: sent?.['renewal_months'],
    expiring_days: sent?.['expiring_days'],
    schedule_type: sent?.['schedule_type'],
  });
  const [schedule] = await worker.query(
    `select equipment_type_label, name, frequency_days, expiring_days from safety.equipment_type_schedules order by schedule_id limit 1`,
  );
  expect(schedule).toEqual({
    equipment_type_label: 'Mobile crane',
    name: 'Weekly check',
    frequency_days: 7,
    expiring_days: 2,
  });
  expect(
    await count(worker, `safety.equipment_metafields where name is not null and type = 'list'`),
  ).toBeGreaterThan(0);
  const before = await count(worker, 'safety.trainings');
  const [other] = [...trainings.keys()].filter((key) => key !== String(training?.id));
  trainings.update(String(other), { created: 0 });
  trainings.delete(String(training?.id));
  expectSucceeded(await syncAfter(worker, '1 day'));
  expect(await count(worker, 'safety.trainings')).toBe(before - 1);
  expect(await worker.query(`select created_at from safety.trainings where id = '${other}'`)).toEqual([
    { created_at: null },
  ]);
  expect(await count(worker, `safety.id_labels where kind = 'training'`)).toBe(before);
});

test('the lists are read once a day; a tick at which nothing is due sends no request and leaves no run', async () => {
  const worker = await open();
  expectSucceeded(await sync(worker));
  const success = await lastSuccess(worker);
  requested(worker);
  for (const trigger of ['schedule', 'manual'] as const) {
    expect(await sync(worker, trigger)).toMatchObject({
      outcome: 'skipped',
      reason: 'nothing due',
      requests: 0,
    });
  }
  expect(requested(worker)).toEqual([]);
  expect(await count(worker, 'safety_sync.runs')).toBe(1);
  expect(await lastSuccess(worker)).toEqual(success);
  expect(await syncAfter(worker, '1 day')).toMatchObject({
    outcome: 'succeeded',
    counts: { inserted: 0, updated: 0, deleted: 0 },
  });
  expect(new Set(requested(worker))).toEqual(new Set(NAMING_LISTS));
});

test('an id that was first met has its list read again, at most hourly; one that the list lacks waits for the next day', async () => {
  const worker = untilTestEnds(await createSyncedWorker());
  const { store } = worker.sandbox;
  const meet = async (form_id: number) => {
    store.followups.put({ ...(SPECIMENS.followups.build(`of ${form_id}`) as unknown as Followup), form_id });
    expectSucceeded(await worker.run('followups', { kind: 'reconcile' }));
    requested(worker);
  };
  await meet(4001);
  expect(await sync(worker)).toMatchObject({ outcome: 'skipped' });
  await later(worker, '1 hour');
  store.lists.forms.put({ ...store.lists.forms.get('1207'), id: 4001, name: 'A new form' });
  store.lists.forms.put({ ...store.lists.forms.get('1207'), name: ' ' });
  expectSucceeded(await sync(worker));
  expect(requested(worker)).toEqual(['forms.list']);
  expect(await count(worker, `safety.names where kind = 'form' and name = 'A new form'`)).toBe(1);
  expect(await count(worker, `safety.names where id = '1207' and name is null`)).toBe(1);
  await meet(4002);
  expectSucceeded(await syncAfter(worker, '1 hour'));
  expect(requested(worker)).toEqual(['forms.list']);
  expect(await syncAfter(worker, '1 hour')).toMatchObject({ outcome: 'skipped', requests: 0 });
});

test('lists that the service does not offer are remembered for a week, and are no failure', async () => {
  const worker = await open();
  const { readings } = worker.sandbox;
  readings.notOffered = ['roles.list'];
  expectSucceeded(await sync(worker));
  expect(await count(worker, `safety.names where kind = 'role'`)).toBe(0);
  await later(worker, '1 day');
  requested(worker);
  expectSucceeded(await sync(worker));
  expect(requested(worker)).not.toContain('roles.list');
  readings.notOffered = [];
  expectSucceeded(await syncAfter(worker, '7 days'));
  expect(await count(worker, `safety.names where kind = 'role'`)).toBeGreaterThan(0);
  readings.notOffered = NAMING_LISTS;
  expect(await syncAfter(worker, '1 day')).toMatchObject({
    outcome: 'skipped',
    reason: 'the service offers none of these lists',
  });
  const { accounts } = await readAccounts(worker.connection, ['default']);
  const facts = accounts.get('default')?.streams.find(({ stream }) => stream === 'names');
  expect(facts).toMatchObject({ isOffered: false, failingWith: null });
});

test('a list that fails leaves its names, the others are stored, and it is read again an hour later', async () => {
  const worker = await open({ mostRetries: 0 });
  expectSucceeded(await sync(worker));
  const success = await lastSuccess(worker);
  const { faults, store } = worker.sandbox;
  store.lists.forms.delete('1207');
  store.lists.roles.put({ id: 99, name: 'A new role' });
  const fail = () => faults.next(({ method }) => method === 'forms.list', { kind: 'serverError' });
  fail();
  expect(runFailure(await syncAfter(worker, '1 day'))).toMatchObject({ code: 'server_error' });
  expect(await count(worker, `safety.names where kind = 'form' and _deleted_at is not null`)).toBe(0);
  expect(await count(worker, `safety.names where name = 'A new role'`)).toBe(1);
  // By hand the failure is told as long as it lasts, and the run with the service's request id stays the last one.
  const runs = await count(worker, 'safety_sync.runs');
  expect(runFailure(await sync(worker, 'manual'))).toMatchObject({ code: 'server_error' });
  expect(await count(worker, 'safety_sync.runs')).toBe(runs);
  expect(await sync(worker)).toMatchObject({ outcome: 'skipped' });
  // Nor is it over because another list was read meanwhile.
  requested(worker);
  await worker.query(
    `update safety_sync.optional_methods set asked_at = asked_at - interval '1 day', read_at = read_at - interval '1 day' where method = 'roles.list'`,
  );
  expect(runFailure(await sync(worker))).toMatchObject({ code: 'server_error' });
  expect(requested(worker)).toEqual(['roles.list']);
  expect(await lastSuccess(worker)).toEqual(success);
  expectSucceeded(await syncAfter(worker, '1 hour'));
  expect(requested(worker)).toEqual(['forms.list']);
  expect(await count(worker, `safety.names where kind = 'form' and _deleted_at is not null`)).toBe(1);
  expect(await lastSuccess(worker)).not.toEqual(success);
});

test('a list that comes back empty, or with less than half of its names, removes none unless that is accepted; a project that is sent as deleted is not in use', async () => {
  const worker = await open();
  expectSucceeded(await sync(worker));
  const { forms, roles } = worker.sandbox.store.lists;
  for (const id of [...forms.keys()].slice(0, Math.floor(forms.size / 2) + 1)) forms.delete(id);
  for (const id of [...roles.keys()]) roles.delete(id);
  const { projects } = worker.sandbox.store.lists;
  const [project = ''] = projects.keys();
  projects.update(project, { active: true, deleted: true });
  await later(worker, '1 day');
  const note = expect.stringMatching(/^form, role: less than half of the names came/) as string;
  expect(await sync(worker)).toMatchObject({ outcome: 'succeeded', counts: { deleted: 0 }, note });
  expect(await count(worker, `safety.names where _key = 'project:${project}' and not is_active`)).toBe(1);
  expect(await worker.run('names', { force: true, allowMassDelete: true })).toMatchObject({ note: null });
  const live = `safety.names where kind in ('form', 'role') and _deleted_at is null`;
  expect(await count(worker, live)).toBe(forms.size);
});

test('a list that announces pages, and refuses them, is not taken for one that is not offered', async () => {
  const worker = await open();
  expectSucceeded(await sync(worker));
  const { hooks, faults } = worker.sandbox;
  hooks.rewriteResponse = ({ method }, response) =>
    method === 'fieldoffices.list' ? { ...response, paging: { total: 99, last_page: 2 } } : response;
  faults.next(({ params }) => 'page' in params, { kind: 'error', error: 'parameter_unexpected' });
  expect(runFailure(await syncAfter(worker, '1 day'))).toMatchObject({ code: 'read_incomplete' });
  expect(await count(worker, `safety.names where kind = 'field_office' and _deleted_at is not null`)).toBe(0);
});

test('a data list that is gone at the source has no items, and fails nothing', async () => {
  const worker = untilTestEnds(await createSyncedWorker());
  const gone = [...worker.sandbox.store.lists.datalistitems].filter(
    ([, item]) => (item as { data_list_id?: number }).data_list_id === 701,
  );
  worker.sandbox.faults.next(({ params }) => params['data_list_id'] === 701, {
    kind: 'error',
    error: 'content_not_found',
  });
  const { counts } = expectSucceeded(await worker.run('names', { force: true }));
  expect(gone.length).toBeGreaterThan(0);
  expect(counts.deleted).toBe(gone.length);
});

test('without configured types every listed type is read, and one with rows that the list lacks, which may be gone', async () => {
  const worker = await open({ settings: { equipmentTypes: [] } });
  const { store, faults } = worker.sandbox;
  expectSucceeded(await worker.run('equipments'));
  expect(await count(worker, 'safety.equipment where _deleted_at is null')).toBe(store.equipment.size);
  const types = [...store.lists.equipmenttypes.keys()].map(String);
  // A type goes with its equipment; a row of it is left.
  const [gone = ''] = types;
  store.lists.equipmenttypes.delete(gone);
  requested(worker);
  expectSucceeded(await worker.run('equipments'));
  expect(requested(worker).filter((method) => method === 'equipments.list')).toHaveLength(types.length);
  faults.next(({ params }) => params['equipmentType_id'] === gone, {
    kind: 'error',
    error: 'parameter_invalid',
  });
  for (const [id, one] of [...store.equipment]) if (one.equipmentType_id === gone) store.equipment.delete(id);
  expectSucceeded(await worker.run('equipments', { allowMassDelete: true }));
  expect(
    await count(worker, `safety.equipment where equipment_type_id = '${gone}' and _deleted_at is null`),
  ).toBe(0);
});

test('a list of types that fails is replaced by the types stored last; with none stored the run fails; also of a service that does not offer it', async () => {
  const worker = await open({ settings: { equipmentTypes: [] }, mostRetries: 0 });
  const { faults, store, readings } = worker.sandbox;
  const fail = () => faults.next(({ method }) => method === 'equipmenttypes.list', { kind: 'serverError' });
  fail();
  expect(runFailure(await worker.run('equipments'))).toMatchObject({ code: 'server_error' });
  expectSucceeded(await sync(worker));
  fail();
  expect(await worker.run('equipments')).toMatchObject({
    outcome: 'succeeded',
    note: expect.stringContaining('types stored last were read') as string,
  });
  expect(await count(worker, 'safety.equipment where _deleted_at is null')).toBe(store.equipment.size);
  // One refusal, after which the list is left alone for a week, does not stop equipment.
  readings.notOffered = ['equipmenttypes.list'];
  for (const listed of [1, 0])
    expect(await worker.run('equipments')).toMatchObject({
      outcome: 'succeeded',
      requests: listed + 4,
      note: expect.stringContaining('failed (api_method_not_found), so the types stored last') as string,
    });
  readings.notOffered = [];
  expect(await worker.run('equipments', { force: true })).toMatchObject({ outcome: 'succeeded', note: null });
  await worker.query(`update safety.equipment set _deleted_at = now()`);
  await worker.query(`delete from safety.names`);
  readings.notOffered = ['equipmenttypes.list'];
  expect(await worker.run('equipments', { force: true })).toMatchObject({ outcome: 'skipped' });
  expect(await worker.run('equipments')).toMatchObject({ outcome: 'skipped', requests: 0 });
});

test('after a move the lists of the new address count, however few of the stored names and types they have', async () => {
  const worker = await open({ settings: { equipmentTypes: [] } });
  const { store } = worker.sandbox;
  for (const stream of ['names', 'equipments']) expectSucceeded(await worker.run(stream));
  const { equipmenttypes } = store.lists;
  for (const [id, type] of [...equipmenttypes]) {
    equipmenttypes.delete(id);
    equipmenttypes.put({ ...type, id: `new ${id}` });
  }
  for (const [, one] of [...store.equipment])
    store.equipment.put({ ...one, equipmentType_id: `new ${one.equipmentType_id}` });
  await move(worker);
  for (const stream of ['names', 'equipments']) expectSucceeded(await worker.run(stream));
  expect(await count(worker, 'safety.equipment where _deleted_at is null')).toBe(store.equipment.size);
  expect(await count(worker, 'safety.equipment_types')).toBe(equipmenttypes.size);
});

test('after a move a list that fails makes no other one due again, and a list that comes back empty later removes none', async () => {
  const worker = await open({ mostRetries: 0 });
  const { faults, store } = worker.sandbox;
  const fail = () => faults.next(({ method }) => method === 'projects.list', { kind: 'serverError' });
  expectSucceeded(await sync(worker));
  await move(worker);
  fail();
  expect(runFailure(await sync(worker))).toMatchObject({ code: 'server_error' });
  expect(await sync(worker)).toMatchObject({ outcome: 'skipped', requests: 0 });
  store.lists.forms.clear();
  fail();
  expect(runFailure(await syncAfter(worker, '1 day'))).toMatchObject({ code: 'server_error' });
  expect(await count(worker, `safety.names where kind = 'form' and _deleted_at is null`)).toBeGreaterThan(0);
});
