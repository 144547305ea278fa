/** The list methods beside those of the specification, as they were observed. */
import { expect, it } from 'vitest';
import { ask, createSmallSandbox, createTestSandbox, errorOf } from './sandbox-ask.ts';
import { forAllTests } from '../support/lifetime.ts';

type Row = Record<string, unknown>;

const sandbox = forAllTests(() => createSmallSandbox());
const list = async (method: string, key: string, parameters = {}): Promise<Row[]> =>
  (await ask(sandbox, method, parameters)).body[key] as Row[];

const idsOf = (records: readonly Row[]): string[] => records.map(({ id }) => String(id));

it('users.list returns everybody with first and last name, organisation, and a time for who has left', async () => {
  const { body } = await ask(sandbox, 'users.list');
  const users = body['users'] as Row[];
  expect(users).toHaveLength(40);
  expect(body['columns']).toContain('terminationDate');
  const ids = idsOf(users);
  for (const user of users) {
    expect(user).toMatchObject({
      firstname: expect.any(String) as string,
      lastname: expect.any(String) as string,
      fieldOffice_id: expect.any(Array) as string[],
      created: expect.any(Number) as number,
    });
    expect(user).not.toHaveProperty('name');
    if ('supervisor_id' in user) expect(ids).toContain(user['supervisor_id']);
  }
  expect(users.filter((user) => 'supervisor_id' in user)).toHaveLength(39);
  expect(await errorOf(sandbox, 'users.list', { limit: 10 })).toBe('parameter_unexpected');
});

it('every id in a record is in a list that names it', async () => {
  const known = async (method: string, key: string, parameters = {}) =>
    new Set(idsOf(await list(method, key, parameters)));
  const offices = await known('fieldoffices.list', 'fieldoffices');
  const lines = await known('linesofbusiness.list', 'linesofbusiness');
  const companies = await known('companies.list', 'companies');
  const forms = await known('forms.list', 'forms');
  const types = await list('equipmenttypes.list', 'equipmenttypes');
  const fields = types.flatMap(({ metafields }) => metafields as Row[]);
  const schedules = new Set(idsOf(types.flatMap((type) => type['schedules'] as Row[])));
  const items = new Set<string>();
  for (const { id } of await list('datalists.list', 'datalists')) {
    for (const item of await list('datalistitems.list', 'datalistitems', { data_list_id: id })) {
      items.add(String(item['id']));
    }
  }
  expect(new Set(fields.map(({ type, list_id }) => [type === 'list', list_id !== null].join()))).toEqual(
    new Set(['true,true', 'false,false']),
  );
  const { store } = sandbox;
  for (const { form_id } of store.followups.values()) expect(forms).toContain(String(form_id));
  for (const one of store.equipment.values()) {
    expect(idsOf(types)).toContain(one.equipmentType_id);
    expect(lines).toContain(one.lineOfBusiness_id);
    for (const id of one.fieldOffice_id) expect(offices).toContain(id);
    for (const id of one.clients_id ?? []) expect(companies).toContain(id);
    for (const { schedule_id: id } of one.schedules ?? []) expect(schedules).toContain(id);
    for (const [field, value] of Object.entries(one.metavalues)) {
      expect(idsOf(fields)).toContain(field);
      if (typeof value === 'object') for (const id of value.item_ids) expect(items).toContain(String(id));
    }
  }
  const titles = await known('jobtitles.list', 'jobtitles');
  const roles = await known('roles.list', 'roles');
  for (const { jobTitle_id: title, role_id: role } of store.users.values()) {
    if (title !== undefined) expect(titles).toContain(title);
    expect(roles).toContain(role);
  }
  const trainings = await known('trainings.v2.list', 'trainings');
  for (const { last_completed } of store.employees.values()) {
    for (const { id } of last_completed) expect(trainings).toContain(String(id));
  }
});

it('projects come in pages of ten, newest first, and an unknown data list is empty', async () => {
  const { body } = await ask(sandbox, 'projects.list');
  expect(body['paging']).toEqual({ total: 12, last_page: 2 });
  const all = idsOf(await list('projects.list', 'projects', { limit: 500 }));
  const pages = [body['projects'] as Row[], await list('projects.list', 'projects', { page: 2 })];
  expect(idsOf(pages.flat())).toEqual(all);
  expect(all).toEqual(all.toSorted().reverse());
  expect(await list('datalistitems.list', 'datalistitems', { data_list_id: 1 })).toEqual([]);
});

it('every completion is listed once, newest day first, also one that was repeated, and a new one follows', async () => {
  const changing = await createTestSandbox();
  const records = async (parameters = {}) =>
    (await ask(changing, 'completedtrainings.v2.list', { limit: 1000, ...parameters })).body[
      'completedtrainings'
    ] as Row[];
  const before = await records();
  const days = before.map((record) => Number(record['date_number']));
  expect(days).toEqual(days.toSorted((a, b) => b - a));
  expect(new Set(idsOf(before)).size).toBe(before.length);
  const last = [...changing.store.employees.values()].flatMap((one) => one.last_completed);
  expect(before.length).toBeGreaterThan(last.length);
  const user = before[0]?.['m_user_id'];
  const ofUser = before.filter(({ m_user_id }) => m_user_id === user);
  expect(await records({ user_id: user })).toEqual(ofUser);
  changing.live.step(200);
  const after = await records();
  expect(after.length).toBeGreaterThan(before.length);
  expect(idsOf(after)).toEqual(expect.arrayContaining(idsOf(before)));
});

it('account.info has the id and the name of the account; another seed is another account', async () => {
  const other = await createTestSandbox({ seed: 5 });
  const idOf = async (one: typeof sandbox) =>
    ((await ask(one, 'account.info')).body['account'] as { id: string }).id;
  expect(await idOf(sandbox)).toMatch(/^[0-9a-f]{24}$/);
  expect(await idOf(other)).not.toBe(await idOf(sandbox));
});
