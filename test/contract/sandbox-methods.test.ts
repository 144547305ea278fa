/** Each method of the sandbox against the specification, and the list methods as they were observed. */
import { expect, test } from 'vitest';
import type { Employee, Equipment, Followup, Resource } from '../../src/sandbox/index.ts';
import { ask, askList, createSmallSandbox, createTestSandbox, errorOf, NOON } from './sandbox-ask.ts';
import { forEachTest } from '../support/lifetime.ts';
import { CRANES } from '../support/equipment-types.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const sandbox = forEachTest(() => createSmallSandbox());

const TIME = ['1700000000000', null];
const PAGING = { limit: [0, -1, 1.5, 100_000, '100', null], page: [0, -1, 1.5, '1', null] };
test.each([
  [
    'followups.list',
    {},
    {
      ...{ form_id: ['1201', null], ...PAGING, status: ['closing', '', 'OPEN', 1, null] },
      ...{ observer_id: [10001, null], assignee_id: [10001, null], response_id: ['400000', null] },
      ...{ created_before: TIME, created_after: TIME, updated_before: TIME, updated_after: TIME },
      followup_display_id: ['true', 1, null],
    },
  ],
  [
    'training-employee-status.list',
    {},
    {
      ...{ training_ids: [301, ['301'], [null], null], m_user_ids: ['10003', [10003], null], ...PAGING },
      include_all_completions: ['true', 1, null],
    },
  ],
  [
    'equipments.list',
    { equipmentType_id: CRANES },
    {
      ...{ equipmentType_id: [21, null], service_type: ['IN', '', null], columns: ['id', [1], null] },
      include_null_metavalues: ['true', 1, null],
    },
  ],
])('a value that its type does not allow is parameter_invalid (%s)', async (method, base, refused) => {
  for (const [parameter, values] of Object.entries<readonly unknown[]>(refused)) {
    for (const value of values) {
      const error = await errorOf(sandbox, method, { ...base, [parameter]: value });
      expect([parameter, value, error]).toEqual([parameter, value, 'parameter_invalid']);
    }
  }
});

test('resources.list returns every resource in one response without paging, versions newest first', async () => {
  const { body } = await ask(sandbox, 'resources.list');
  expect(body).toEqual({ ok: true, resources: [...sandbox.store.resources.values()] });
  for (const { versions } of body['resources'] as Resource[]) {
    const created = versions.map((version) => version.created);
    expect(created).toEqual(created.toSorted((a, b) => b - a));
    for (const { type, file, link, size } of versions)
      expect([file === null, link === undefined, size === undefined]).toEqual(
        type === 'link' ? [true, false, true] : [false, true, false],
      );
  }
});

test('followups.list returns pages, newest first, with times as numeric text and null for what a completion sets', async () => {
  const list = (parameters: object) => askList<Followup>(sandbox, 'followups.list', parameters);
  const all = await list({ limit: 500 });
  expect(all).toHaveLength(240);
  expect(all).toEqual(all.toSorted((a, b) => b.created_on - a.created_on));
  const pages = [1, 2, 3, 4].map((page) => list({ limit: 70, page }));
  expect((await Promise.all(pages)).flat()).toEqual(all);
  expect(await list({ limit: 70 })).toEqual(all.slice(0, 70));
  expect((await ask(sandbox, 'followups.list', { page: 4 })).body).toEqual({
    ok: true,
    paging: { total: 240, last_page: 3 },
    followups: [],
  });
  for (const sent of all) {
    const { created_on, resolved_on } = sandbox.store.followups.get(sent.id) ?? sent;
    expect(sent.created_on).toBe(String(created_on));
    expect(sent.resolved_on).toBe(resolved_on === undefined ? null : String(resolved_on));
    expect([sent.due, sent.m_completer_id]).not.toContain(undefined);
    expect(sent).not.toHaveProperty('followup_display_id');
  }
  const numbered = await list({ limit: 2, followup_display_id: true });
  expect(numbered).toMatchObject([{ followup_display_id: '240' }, { followup_display_id: '239' }]);
});

test('followups.list selects by form, response, people, status and the exclusive bounds of both times', async () => {
  const all = [...sandbox.store.followups.values()];
  const middle = all[120] ?? all[0];
  if (middle === undefined) throw new Error('there is no follow-up');
  const today = 20_260_302;
  const selections: [object, (one: Followup) => boolean][] = [
    [{ form_id: middle.form_id }, (one) => one.form_id === middle.form_id],
    [{ response_id: middle.response_id }, (one) => one.response_id === middle.response_id],
    [{ observer_id: middle.m_observer_id }, (one) => one.m_observer_id === middle.m_observer_id],
    [{ assignee_id: middle.m_assignee_id }, (one) => one.m_assignee_id === middle.m_assignee_id],
    [{ status: 'open' }, (one) => one.open],
    [{ status: 'closed' }, (one) => !one.open],
    [{ status: 'overdue' }, (one) => one.open && (one.due ?? Infinity) < today],
    [{ created_before: middle.created_on }, (one) => one.created_on < middle.created_on],
    [{ created_after: middle.created_on }, (one) => one.created_on > middle.created_on],
    [{ updated_before: middle.updated_on }, (one) => one.updated_on < middle.updated_on],
    [{ updated_after: middle.updated_on }, (one) => one.updated_on > middle.updated_on],
  ];
  for (const [parameters, isMeant] of selections) {
    const found = await askList<Followup>(sandbox, 'followups.list', { limit: 500, ...parameters });
    const ids = all.filter(isMeant).map(({ id }) => id);
    expect(ids.length).toBeGreaterThan(0);
    expect([parameters, found.map(({ id }) => id).toSorted()]).toEqual([parameters, ids.toSorted()]);
  }
});

const TRAINING = 'training-employee-status.list';
const valid = { date_number: 20260101, expiresOn: 20270101, startsExpiringOn: 20261201 };
function plant(last_completed: Employee['last_completed']): void {
  sandbox.store.employees.putLiving({
    ...{ status: 'unassigned', m_user_id: 'e1', percent_complete: 0 },
    ...{ incomplete_training_ids: [301], complete_training_ids: [], last_completed },
  });
}

test('the training list is kept for 15 minutes, and has pages of at most a thousand', async () => {
  const large = await createTestSandbox({ size: { employees: 1001, followups: 0 } });
  const list = (parameters: object) => askList(large, TRAINING, parameters);
  const before = await ask(large, TRAINING);
  expect(before.body['employees']).toHaveLength(1000);
  expect(before.body['paging']).toEqual({ total: 1001, last_page: 2, page: 1 });
  expect([await list({ page: 2 }), await list({ page: 3 })]).toMatchObject([{ length: 1 }, []]);
  large.store.employees.delete([...large.store.employees.keys()][5] ?? '');
  large.clock.now = NOON + 15 * MINUTE - 1;
  expect((await ask(large, TRAINING)).text).toBe(before.text);
  large.clock.now = NOON + 15 * MINUTE;
  expect((await ask(large, TRAINING)).body).toMatchObject({
    last_updated: NOON + 15 * MINUTE,
    paging: { total: 1000 },
  });
});

test('an expiring training makes its employee expiring and then incomplete', async () => {
  const last = { ...valid, expiresOn: 20260310, startsExpiringOn: 20260305, is_required: true };
  plant([{ ...last, id: 301 }]);
  const statusAfter = async (days: number) => {
    sandbox.clock.now = NOON + days * DAY;
    const [employee] = await askList<Employee>(sandbox, TRAINING, { m_user_ids: ['e1'] });
    return [employee?.status, employee?.percent_complete, employee?.incomplete_training_ids];
  };
  expect(await statusAfter(0)).toEqual(['active', 100, []]);
  expect(await statusAfter(3)).toEqual(['expiring', 100, []]);
  expect(await statusAfter(8)).toEqual(['expiring', 100, []]);
  expect(await statusAfter(9)).toEqual(['incomplete', 0, [301]]);
});

test('without include_all_completions, last_completed has required trainings only, without is_required', async () => {
  const completions = [
    { ...valid, id: 301, is_required: true },
    { ...valid, id: 302, is_required: false },
  ];
  plant(completions);
  const completed = async (parameters: object) =>
    (await askList<Employee>(sandbox, TRAINING, { m_user_ids: ['e1'], ...parameters }))[0]?.last_completed;
  expect(await completed({})).toEqual([{ ...valid, id: 301 }]);
  expect(await completed({ include_all_completions: true })).toEqual(completions);
  expect(await completed({ include_all_completions: true, training_ids: [302] })).toEqual([completions[1]]);
});

test('equipments.list returns the equipment of one type in or out of service, with the asked columns and empty metavalues', async () => {
  const list = (parameters: object) => askList<Equipment>(sandbox, 'equipments.list', parameters);
  const stored = [...sandbox.store.equipment.values()].filter((one) => one.equipmentType_id === CRANES);
  const [first] = stored;
  const id = first?.id ?? '';
  sandbox.store.equipment.update(id, { isInService: false, metavalues: { '3102': 'SK21 LFT' } });
  const all = await list({ equipmentType_id: CRANES, service_type: 'all' });
  expect(all).toHaveLength(12);
  const inService = all.filter((one) => one.isInService);
  expect(await list({ equipmentType_id: CRANES })).toEqual(inService);
  expect(await list({ equipmentType_id: CRANES, service_type: 'in' })).toEqual(inService);
  const out = { equipmentType_id: CRANES, service_type: 'out' };
  expect(await list(out)).toEqual(all.filter((one) => !one.isInService));
  expect((await list({ ...out, columns: ['id', 'metavalues'], include_null_metavalues: true }))[0]).toEqual({
    id,
    metavalues: { '3101': 'NULL', '3102': 'SK21 LFT', '3103': 'NULL' },
  });
  expect(await list({ equipmentType_id: '99' })).toEqual([]);
});

test('users.info returns a user of users.list by id, or as the specification shows it by user', async () => {
  const user = sandbox.store.users.get('10003');
  expect((await ask(sandbox, 'users.info', { id: '10003' })).body).toEqual({ ok: true, user });
  expect(await errorOf(sandbox, 'users.info', { user: 10003 })).toBe('parameter_unexpected');
  sandbox.readings.usersInfo = 'user';
  const expected = { ok: true, user: { id: '10003', name: `${user?.firstname} ${user?.lastname}` } };
  expect((await ask(sandbox, 'users.info', { user: 10003 })).body).toEqual(expected);
  expect((await ask(sandbox, 'users.info', { user: '10003' })).body).toEqual(expected);
});

type Row = Record<string, unknown>;
const idsOf = (records: readonly Row[]): string[] => records.map(({ id }) => String(id));

test('every id in a record is in a list that names it', async () => {
  const { followups, equipment, employees } = sandbox.store;
  const pieces = [...equipment.values()];
  const trained = [...employees.values()].flatMap((one) => one.last_completed);
  const used: [string, unknown[]][] = [
    ['forms.list', [...followups.values()].map((one) => one.form_id)],
    ['fieldoffices.list', pieces.flatMap((one) => one.fieldOffice_id)],
    ['linesofbusiness.list', pieces.map((one) => one.lineOfBusiness_id)],
    ['trainings.v2.list', trained.map(({ id }) => id)],
    ['equipmenttypes.list', pieces.map((one) => one.equipmentType_id)],
    ['users.list', [...followups.values()].flatMap((one) => [one.m_observer_id, one.m_assignee_id])],
  ];
  for (const [method, ids] of used) {
    const named = new Set(idsOf(await askList(sandbox, method)));
    expect(ids.length).toBeGreaterThan(0);
    expect([method, ids.filter((id) => !named.has(String(id)))]).toEqual([method, []]);
  }
});

test('every completion is listed once, newest day first, also one that was repeated, and a new one follows', async () => {
  const records = (parameters = {}) =>
    askList(sandbox, 'completedtrainings.v2.list', { limit: 1000, ...parameters });
  const before = await records();
  const days = before.map((record) => Number(record['date_number']));
  expect(days).toEqual(days.toSorted((a, b) => b - a));
  expect(new Set(idsOf(before)).size).toBe(before.length);
  const last = [...sandbox.store.employees.values()].flatMap((one) => one.last_completed);
  expect(before.length).toBeGreaterThan(last.length);
  const user = before[0]?.['m_user_id'];
  expect(await records({ user_id: user })).toEqual(before.filter(({ m_user_id }) => m_user_id === user));
  sandbox.live.step(200);
  const after = await records();
  expect(after.length).toBeGreaterThan(before.length);
  expect(idsOf(after)).toEqual(expect.arrayContaining(idsOf(before)));
});

test('account.info has the id of the account; another seed is another account', async () => {
  const idOf = async (one: typeof sandbox) =>
    ((await ask(one, 'account.info')).body['account'] as { id: string }).id;
  expect(await idOf(sandbox)).toMatch(/^[0-9a-f]{24}$/);
  expect(await idOf(await createTestSandbox({ seed: 5 }))).not.toBe(await idOf(sandbox));
});
