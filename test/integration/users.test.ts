/** People come from one list; only ids that it lacks are asked for one by one. */
import { afterEach, expect, test } from 'vitest';
import type { SandboxOptions } from '../../src/sandbox/index.ts';
import type { PrivacySettings } from '../../src/engine/privacy/settings.ts';
import type { RunRequest } from '../../src/engine/sync/run.ts';
import { readAccounts } from '../../src/operate/status/read-accounts.ts';
import { MINUTE_MS } from '../../src/shared/time.ts';
import { cleanAccount } from '../../src/engine/sync/forget.ts';
import { runStream } from '../../src/engine/sync/run-stream.ts';
import {
  createTimedWorker,
  createWorkerWithPast,
  expectSucceeded,
  rowVersions,
  runsOf,
  type TimedWorker,
} from '../support/world.ts';
import { expectWarehouseEqualsSource } from '../support/source-oracle.ts';

let worker: TimedWorker;
afterEach(() => worker.close());

const SIZE = { followups: 20, employees: 20, equipment: 12, resources: 6, users: 24 };
const SPEC_ONLY = { notOffered: ['users.list'], usersInfo: 'user' } as const;

/** Syncs the streams with ids of people. */
async function start(sandbox: SandboxOptions = {}, privacy?: PrivacySettings): Promise<void> {
  worker = await createWorkerWithPast({
    name: `users ${JSON.stringify(privacy)}`,
    create: (database) =>
      createTimedWorker({
        database,
        sandbox: { size: SIZE, ...sandbox, readings: { usersInfo: 'id', ...sandbox.readings } },
        ...(privacy === undefined ? {} : { privacy }),
      }),
    happen: async (earlier, isStored) => {
      if (isStored) return;
      for (const stream of ['resources', 'followups', 'training-employee-status', 'equipments'] as const)
        expectSucceeded(await earlier.run(stream));
    },
  });
}
const sync = async (request: Partial<RunRequest> = {}) => expectSucceeded(await worker.run('users', request));
const asked = (method: string) =>
  worker.sandbox.requests
    .filter((one) => one.method === method)
    .map(({ params }) => params['id'] ?? params['user'] ?? null);
const isEqual = () => expectWarehouseEqualsSource(worker, { tables: ['users'] });
/** Moves what is remembered of the service into the past. */
const passTime = (time: string) =>
  Promise.all([
    worker.query(
      `update safety_sync.optional_methods set asked_at = asked_at - interval '${time}', read_at = read_at - interval '${time}'`,
    ),
    worker.query(
      `update safety_sync.user_lookups set asked_at = asked_at - interval '${time}', first_met_at = first_met_at - interval '${time}'`,
    ),
  ]);
const someIds = async (count: number): Promise<string[]> => {
  const rows = await worker.query<{ id: string }>(
    `select distinct assignee_id as id from safety.followups where assignee_id <> '' order by 1 limit ${count}`,
  );
  expect(rows).toHaveLength(count);
  return rows.map(({ id }) => id);
};

/** What may be kept of a person without USERS_KEEP. */
const KEPT = new Set(
  `id name firstname lastname employeeNumber jobTitle_id role_id fieldOffice_id lineOfBusiness_id clients_id projects_id
   supervisor_id manager_id mentor_id hse_id creator_id hireDate terminationDate lastWebAccess lastMobileAccess`.split(
    /\s+/,
  ),
);

test('one request names everybody, and of a person only the listed fields are stored', async () => {
  await start();
  for (const user of worker.sandbox.store.users.values())
    Object.assign(user, { sseDate: 1, phone2: 'new 555-0100', cellPhone: 'old 555-0101' });
  await sync();
  expect(worker.sandbox.requests.map(({ method }) => method)).toEqual(['users.list']);
  await isEqual();
  const fields = await worker.query<{ field: string; types: string }>(
    `select key as field, string_agg(distinct jsonb_typeof(value), ' ' order by jsonb_typeof(value)) as types
     from safety.users, jsonb_each(_raw) group by 1`,
  );
  expect(fields.filter(({ field }) => !KEPT.has(field))).toEqual([]);
  expect(fields).toContainEqual({ field: 'creator_id', types: 'string' });
  expect(
    await worker.query(
      `select field, value from safety_sync.data_issues where stream = 'users' and resolved_at is null`,
    ),
  ).toEqual([{ field: 'phone2', value: null }]);
  // A field that is gone closes its issue.
  for (const user of worker.sandbox.store.users.values()) Reflect.deleteProperty(user, 'phone2');
  await sync({ force: true });
  expect(
    await worker.query(
      `select field from safety_sync.data_issues where stream = 'users' and resolved_at is null`,
    ),
  ).toEqual([]);
});

test('the list is read daily, and earlier only for an id that was first met since: at most hourly', async () => {
  await start();
  await sync();
  const before = await rowVersions(worker);
  const runs = await runsOf(worker, 'users');
  expect(await worker.run('users')).toMatchObject({ outcome: 'skipped', reason: 'nothing due', requests: 0 });
  expect(await runsOf(worker, 'users')).toEqual(runs);
  expect(await rowVersions(worker)).toEqual(before);
  await worker.query(
    `insert into safety_sync.user_lookups (account_id, user_id) values ('default', 'newcomer')`,
  );
  worker.sandbox.requests.length = 0;
  // The list was read a moment ago, so the id is asked for by itself.
  await sync();
  expect(asked('users.list')).toEqual([]);
  expect(asked('users.info')).toEqual(['newcomer']);
  // That the service knows a person by itself does not show whether the list has them.
  await worker.query(`delete from safety_sync.user_lookups where user_id = 'newcomer'`);
  const [known] = worker.sandbox.store.users.values();
  worker.sandbox.store.users.put({ ...known, id: 'second' });
  await worker.query(
    `insert into safety_sync.user_lookups (account_id, user_id) values ('default', 'second')`,
  );
  await sync();
  const second = `select is_active from safety.people where user_id = 'second'`;
  expect(await worker.query(second)).toEqual([{ is_active: null }]);
  await worker.query(
    `update safety_sync.optional_methods set asked_at = asked_at - interval '61 minutes', read_at = read_at - interval '61 minutes'`,
  );
  await sync();
  expect(asked('users.list')).toEqual([null]);
  expect(await worker.query(second)).toEqual([{ is_active: true }]);
  await passTime('25 hours');
  await sync();
  expect(asked('users.list')).toEqual([null, null]);
});

test('people whom the list has no more are marked deleted and keep their names; an empty or half list deletes nobody unless that is accepted', async () => {
  await start();
  await sync();
  const [gone = ''] = await someIds(1);
  const { users } = worker.sandbox.store;
  const all = [...users.values()];
  users.delete(gone);
  expect(await sync({ force: true })).toMatchObject({ counts: { deleted: 1 } });
  const [row] =
    await worker.query(`select f.assignee_name is not null as is_named, p.is_active, u._deleted_at is not null as is_deleted
    from safety.followup_overview f join safety.users u on u.id = f.assignee_id join safety.people p on p.user_key = f.assignee_key
    where f.assignee_id = '${gone}' limit 1`);
  expect(row).toEqual({ is_named: true, is_active: null, is_deleted: true });
  for (const count of [Math.floor((all.length - 1) / 2) - 1, 0]) {
    for (const { id } of all) users.delete(id);
    for (const one of all.slice(0, count)) users.put(one);
    const result = await sync({ force: true });
    expect(result.counts.deleted).toBe(0);
    expect(result.note).toContain(`it has ${count} people, of`);
  }
  for (const one of all.slice(0, 2)) users.put(one);
  worker.sandbox.hooks.rewriteResponse = (_entry, response) => ({ ...response, truncated: true });
  const doubtful = await sync({ force: true, allowMassDelete: true });
  expect(doubtful).toMatchObject({
    counts: { deleted: 0 },
    note: expect.stringContaining('truncated') as string,
  });
  worker.sandbox.hooks.rewriteResponse = undefined;
  expect(await sync({ force: true, allowMassDelete: true })).toMatchObject({ note: null });
  expect(await worker.query('select from safety.users where _deleted_at is null')).toHaveLength(2);
  for (const one of all) users.put(one);
  await sync({ force: true });
  expect(await worker.query('select id from safety.users where _deleted_at is not null')).toEqual([]);
  await isEqual();
});

test('ids that the list lacks are asked for by id, and unknown ones again after a week', async () => {
  await start();
  const [hidden = '', unknown = ''] = await someIds(2);
  const { store, hooks } = worker.sandbox;
  store.users.delete(unknown);
  hooks.rewriteResponse = (entry, response) =>
    entry.method === 'users.list'
      ? { ...response, users: (response['users'] as { id: string }[]).filter(({ id }) => id !== hidden) }
      : response;
  await sync();
  expect(asked('users.list')).toHaveLength(1);
  expect(asked('users.info').toSorted()).toEqual([hidden, unknown].toSorted());
  const people = `select user_id, name <> user_id as is_named, is_active from safety.people where user_id in ('${hidden}', '${unknown}') order by 2`;
  expect(await worker.query(people)).toEqual([
    { user_id: unknown, is_named: false, is_active: null },
    { user_id: hidden, is_named: true, is_active: null },
  ]);
  worker.sandbox.requests.length = 0;
  await passTime('6 days');
  await sync();
  expect(asked('users.info')).toEqual([]);
  await passTime('2 days');
  await sync();
  expect(asked('users.info')).toEqual([unknown]);
  expect(await worker.query(people)).toHaveLength(2);
  // No list has lost a person whom none had.
  const deleted = `select id from safety.users where _deleted_at is not null`;
  expect(await worker.query(deleted)).toEqual([]);
  for (const rewrite of [undefined, hooks.rewriteResponse]) {
    hooks.rewriteResponse = rewrite;
    await sync({ force: true });
  }
  expect(await worker.query(deleted)).toEqual([{ id: hidden }]);
});

test('a service as the specification shows it names people by the parameter user, which is remembered', async () => {
  await start({ readings: SPEC_ONLY });
  await sync();
  const forms = worker.sandbox.requests
    .filter(({ method }) => method === 'users.info')
    .map(({ params }) => Object.keys(params).find((name) => name === 'id' || name === 'user'));
  expect(forms.slice(0, 3)).toEqual(['id', 'user', 'user']);
  expect(forms.filter((form) => form === 'id')).toHaveLength(1);
  expect(
    await worker.query(`select count(*) filter (where u.name is null)::int as unnamed, bool_or(p.is_active is not null) as is_known
      from safety_sync.user_lookups l left join safety.users u on u.id = l.user_id join safety.people p on p.user_id = l.user_id`),
  ).toEqual([{ unnamed: 0, is_known: false }]);
  const { accounts, databaseNowMs } = await readAccounts(worker.connection, ['default']);
  const facts = accounts.get('default')?.streams.find(({ stream }) => stream === 'users');
  expect(facts).toMatchObject({ isOffered: true, hasList: false });
  expect(databaseNowMs - (facts?.lastSuccessMs ?? 0)).toBeLessThan(MINUTE_MS);
});

test('names of people that are no longer omitted return, also those that no list has', async () => {
  await start({ readings: SPEC_ONLY }, { omit: ['users.name'], pseudonymize: [] });
  const named = async () =>
    (await worker.query(`select from safety.users where name is not null and _hash is not null`)).length;
  await sync();
  expect(await named()).toBe(0);
  const people = asked('users.info').length;
  const context = { ...worker.context, privacy: { omit: [], pseudonymize: [] } };
  await cleanAccount(context, true);
  await runStream(context, { stream: 'users', kind: 'backfill', trigger: 'manual' });
  expect(await named()).toBeGreaterThan(0);
  worker.sandbox.requests.length = 0;
  await runStream(context, { stream: 'users', kind: 'backfill', trigger: 'manual' });
  expect(asked('users.info')).toEqual([]);
  expect(people).toBeGreaterThan(await named());
});

test('a scheduled sync asks for twenty ids, backfill for all', async () => {
  await start({ readings: SPEC_ONLY });
  await worker.query(
    `insert into safety_sync.user_lookups (account_id, user_id) select 'default', 'x' || n from generate_series(1, 20) n`,
  );
  const countLookups = async (condition: string) =>
    (await worker.query(`select from safety_sync.user_lookups l where ${condition}`)).length;
  const lookups = () => countLookups('not exists (select from safety.users u where u.id = l.user_id)');
  const all = await lookups();
  const { note } = await sync({ trigger: 'schedule' });
  expect(new Set(asked('users.info').map(String)).size).toBe(20);
  expect(note).toBe(`${all - 20} people without a name are left for later runs`);
  // Those before a request that fails stay asked, also where nobody was named.
  let requests = 0;
  worker.sandbox.faults.next(() => (requests += 1) === 2, { kind: 'error', error: 'token_invalid' });
  expect((await worker.run('users', { trigger: 'schedule' })).outcome).toBe('failed');
  expect(await countLookups('asked_at is not null')).toBe(21);
  worker.sandbox.requests.length = 0;
  const left = await lookups();
  await sync({ kind: 'backfill' });
  expect(new Set(asked('users.info').map(String)).size).toBe(left);
});

test('a service without any method for people leaves names unknown and fails nothing, and is asked again after a week', async () => {
  await start({ readings: { notOffered: ['users.list', 'users.info'] } });
  const methods = () => worker.sandbox.requests.map(({ method }) => method);
  expect((await worker.run('users')).outcome).not.toBe('failed');
  expect(methods()).toEqual(['users.list', 'users.info']);
  await passTime('6 days');
  expect(await worker.run('users')).toMatchObject({ outcome: 'skipped', requests: 0 });
  await passTime('2 days');
  await worker.run('users');
  expect(methods()).toEqual(['users.list', 'users.info', 'users.list', 'users.info']);
});

test('USERS_KEEP stores what it names, and taking a word out cleans what is stored', async () => {
  const all = ['email', 'username', 'phones', 'emergency_contacts', 'metavalues'];
  await start({}, { omit: [], pseudonymize: [], keep: all });
  const [user] = worker.sandbox.store.users.values();
  Object.assign(user ?? {}, {
    cellPhone: '555-0101',
    emergencyContact: 'Somebody',
    metavalues: { '1': 'A' },
  });
  await sync();
  const stored = async () => {
    const [row] = await worker.query(
      `select u.email is not null as email, username is not null as username, (_raw ? 'email')::text || (_raw ? 'username') as raw,
         _raw->>'cellPhone' as phone, _raw->>'emergencyContact' as contact, _raw->>'metavalues' as metavalues
       from safety.users u where id = '${user?.id ?? ''}'`,
    );
    return row;
  };
  expect(await stored()).toEqual({
    email: true,
    username: true,
    raw: 'truetrue',
    phone: '555-0101',
    contact: 'Somebody',
    metavalues: '{"1": "A"}',
  });
  const context = { ...worker.context, privacy: { omit: [], pseudonymize: [], keep: ['username'] } };
  expectSucceeded(
    await runStream(context, { stream: 'users', kind: 'sync', trigger: 'manual', force: true }),
  );
  expect(await stored()).toEqual({
    email: false,
    username: true,
    raw: 'falsetrue',
    phone: null,
    contact: null,
    metavalues: null,
  });
  // Now the settings of before protect less than what is recorded.
  expect(await worker.run('users')).toMatchObject({ outcome: 'failed', error: { code: 'privacy_less' } });
});

test('people have their supervisor, manager and organisation by name, and are active until the day of termination', async () => {
  await start();
  expectSucceeded(await worker.run('names'));
  const [leader, leaver, stayer] = worker.sandbox.store.users.values();
  const today = (days: number) => Date.now() + days * 86_400_000;
  Object.assign(leaver ?? {}, {
    supervisor_id: leader?.id,
    manager_id: leader?.id,
    terminationDate: today(-1),
  });
  Object.assign(stayer ?? {}, { terminationDate: today(3), hireDate: 20_190_131 });
  await sync();
  const [row] =
    await worker.query(`select p.supervisor_name = u.name and p.manager_name = u.name as is_led, p.supervisor_key = u.account_id || '/' || u.id
      and p.manager_key = p.supervisor_key as has_keys, p.is_active, p.field_office = o.label and p.field_office <> o.id as has_office
    from safety.people p join safety.users u on u.id = '${leader?.id ?? ''}' join safety.people_field_offices o on o.user_key = p.user_key
    where p.user_id = '${leaver?.id ?? ''}' limit 1`);
  expect(row).toEqual({ is_led: true, has_keys: true, is_active: false, has_office: true });
  expect(
    await worker.query(`select is_active, (select hired_on::text from safety.users where id = user_id) as hired_on
    from safety.people where user_id = '${stayer?.id ?? ''}'`),
  ).toEqual([{ is_active: true, hired_on: '2019-01-31' }]);
});
