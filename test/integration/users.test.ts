/** Names are looked up one by one, rarely, and never at the cost of anything else. */
import { afterEach, describe, expect, test } from 'vitest';
import type { Readings } from '../../src/sandbox/index.ts';
import type { StreamName } from '../../src/engine/streams/stream.ts';
import { runStream } from '../../src/engine/sync/run-stream.ts';
import { casesOf } from '../support/proof.ts';
import { expectWarehouseEqualsSource } from '../support/source-oracle.ts';
import { SPECIMENS } from '../support/specimens.ts';
import { createTimedWorker, expectSucceeded, type TimedWorker } from '../support/timed-worker.ts';
import { rowVersions, runsOf } from '../support/warehouse-marks.ts';

let worker: TimedWorker;
afterEach(() => worker.close());

const NOTHING_ELSE = { followups: 0, equipment: 0, resources: 0 };
const ALL_NAME_PEOPLE = { followups: 30, equipment: 12, resources: 6 };

/** Syncs the training list only, or all streams with user ids. */
async function start(
  readings: Partial<Readings> = {},
  people: { readonly employees: number; readonly users: number } = { employees: 20, users: 14 },
  others = NOTHING_ELSE,
): Promise<void> {
  worker = await createTimedWorker({ sandbox: { size: { ...others, ...people }, readings } });
  const streams: readonly StreamName[] =
    others === NOTHING_ELSE
      ? ['training-employee-status']
      : ['resources', 'followups', 'training-employee-status', 'equipments'];
  for (const stream of streams) expectSucceeded(await worker.run(stream));
  worker.sandbox.requests.length = 0;
}
const sync = async () => expectSucceeded(await worker.run('users'));
const isEqual = () => expectWarehouseEqualsSource(worker, { tables: ['users'] });
const asked = () => worker.sandbox.requests.map(({ params }) => params['user']);
const lookups = async () =>
  await worker.query<{ user_id: string; is_known: boolean | null; hours: number | null }>(
    `select user_id, is_known, round(extract(epoch from due_at - asked_at) / 3600)::int as hours
     from safety_sync.user_lookups order by user_id`,
  );

type Forms = ['text', 'content_not_found'] | ['numbers', 'parameter_invalid'];
const forms: Forms[] = [
  ['text', 'content_not_found'],
  ['numbers', 'parameter_invalid'],
];
describe.each(casesOf({ few: forms.slice(1), all: forms }))(
  'a service with ids as %s and unknown users reported as %s',
  (identifiers, unknownUser) => {
    test('each user in a stored record is requested once', async () => {
      await start({ identifiers, unknownUser }, undefined, ALL_NAME_PEOPLE);
      await sync();
      await isEqual();
      const ids = (await lookups()).map((row) => row.user_id);
      expect(ids.length).toBeGreaterThan(15);
      expect(asked().map(String).toSorted()).toEqual(ids.toSorted());
      worker.sandbox.requests.length = 0;
      const before = await rowVersions(worker);
      expect(await sync()).toMatchObject({ requests: 0, counts: { read: 0 } });
      expect(asked()).toEqual([]);
      expect(await rowVersions(worker)).toEqual(before);
    });

    test('a user that the service reports as unknown is not requested again and fails no run', async () => {
      await start({ identifiers, unknownUser }, undefined, ALL_NAME_PEOPLE);
      for (const [id] of [...worker.sandbox.store.users].slice(0, 4)) worker.sandbox.store.users.delete(id);
      const result = await sync();
      expect(result.counts).toMatchObject({ rejected: 0 });
      await isEqual();
      const unknown = (await lookups()).filter((row) => row.is_known === false);
      expect(unknown).toHaveLength(4);
      for (const { hours } of unknown) expect(hours).toBeGreaterThan(14 * 24);
      worker.sandbox.requests.length = 0;
      await sync();
      expect(asked()).toEqual([]);
    });
  },
);

test('a name is requested again after about a week, and the name of a new user id in the next run', async () => {
  await start();
  await sync();
  for (const { hours } of await lookups()) {
    expect(hours).toBeGreaterThan(6 * 24);
    expect(hours).toBeLessThan(8 * 24);
  }
  const [renamed] = worker.sandbox.store.users.keys();
  worker.sandbox.store.users.update(renamed ?? '', { name: 'Married Name' });
  worker.sandbox.store.users.put({ id: 'newcomer', name: 'New Comer' });
  worker.sandbox.store.resources.put({
    ...SPECIMENS.resources.build('written by a newcomer'),
    versions: [{ creator_id: 'newcomer', created: 1 }],
  });
  expectSucceeded(await worker.run('resources'));
  worker.sandbox.requests.length = 0;
  await sync();
  expect(asked()).toEqual(['newcomer']);

  await worker.query(
    `update safety_sync.user_lookups
     set due_at = (due_at at time zone 'UTC' - interval '8 days') at time zone 'UTC' where is_known`,
  );
  const { counts } = await sync();
  expect(counts).toMatchObject({ inserted: 0, updated: 1 });
  await isEqual();
});

test.each([
  ['the service does not offer the method', 'api_method_not_found'],
  ['the token lacks the permission', 'token_permission'],
] as const)('if %s, the run is skipped with a note and does not fail', async (_name, error) => {
  await start();
  worker.sandbox.faults.next(({ method }) => method === 'users.info', { kind: 'error', error }, 1000);
  const result = await worker.run('users');
  expect(result.outcome).toBe('skipped');
  expect(worker.sandbox.requests.length).toBeLessThanOrEqual(2);
  const [run] = await runsOf(worker, 'users');
  expect(run).toMatchObject({ status: 'skipped', error_code: null });
  expect(run?.note).toContain('users.info');
  worker.sandbox.faults.clear();
  await sync();
  await isEqual();
});

test('a run that fails keeps the names that it received, and the next run requests only the others', async () => {
  await start();
  worker.sandbox.faults.next(({ number }) => number % 5 === 0, {
    kind: 'error',
    error: 'request_data_invalid',
  });
  expect(await worker.run('users')).toMatchObject({
    outcome: 'failed',
    error: { code: 'request_data_invalid' },
  });
  const known = (await lookups()).filter((row) => row.is_known).map((row) => row.user_id);
  expect(known.length).toBeGreaterThan(0);
  worker.sandbox.requests.length = 0;
  await sync();
  expect(
    asked()
      .map(String)
      .filter((id) => known.includes(id)),
  ).toEqual([]);
  await isEqual();
});

test('user ids with failed requests do not stop the other ids, and are requested again in the next run', async () => {
  await start();
  const ids = (await lookups()).map((row) => row.user_id);
  const failing = new Set(ids.slice(0, 3));
  worker.sandbox.hooks.rewriteResponse = (entry, response) =>
    failing.has(String(entry.params['user'])) ? { ok: false, error: 'server_error' } : response;
  const failures = () =>
    worker.query(
      `select user_id, failures, last_error, due_at <= asked_at as is_due
       from safety_sync.user_lookups where failures > 0 order by user_id`,
    );
  const expected = (count: number) =>
    [...failing].map((user_id) => ({
      user_id,
      failures: count,
      last_error: 'server_error',
      is_due: count === 1,
    }));
  await sync();
  expect(await failures()).toEqual(expected(1));
  worker.sandbox.requests.length = 0;
  await sync();
  expect(new Set(asked().map(String))).toContain(ids[0]);
  expect(await failures()).toEqual(expected(2));
  const [run] = await runsOf(worker, 'users');
  expect(run?.note).toContain('3 user ids cannot be looked up and are requested again later');
  worker.sandbox.hooks.rewriteResponse = undefined;
  await worker.query('update safety_sync.user_lookups set due_at = now() where failures > 0');
  await sync();
  expect(await failures()).toEqual([]);
  await isEqual();
});

test('a run without any successful response fails, and the next run begins with other ids', async () => {
  await start();
  worker.sandbox.hooks.rewriteResponse = () => ({ ok: false, error: 'server_error' });
  expect(await worker.run('users')).toMatchObject({ outcome: 'failed', error: { code: 'server_error' } });
  const first = new Set(asked().map(String));
  expect(first.size).toBeLessThanOrEqual(8);
  worker.sandbox.requests.length = 0;
  expect(await worker.run('users')).toMatchObject({ outcome: 'failed' });
  const second = [...new Set(asked().map(String))];
  expect(second.slice(0, 4).filter((id) => first.has(id))).toEqual([]);
  worker.sandbox.hooks.rewriteResponse = undefined;
  await sync();
  await isEqual();
  // Every user was found in the end.
  expect((await lookups()).filter((row) => row.is_known !== true)).toEqual([]);
});

test('a run of users without due ids has the newest last success of the streams with user ids', async () => {
  await start({}, undefined, ALL_NAME_PEOPLE);
  await sync();
  await worker.query(`update safety_sync.stream_state set last_success_at = case stream
    when 'users' then timestamptz '2026-01-01' when 'followups' then timestamptz '2026-01-03' else timestamptz '2026-01-02' end`);
  expect(await sync()).toMatchObject({ requests: 0 });
  expect(
    await worker.query(
      `select (last_success_at at time zone 'UTC')::text as at from safety_sync.stream_state where stream = 'users'`,
    ),
  ).toEqual([{ at: '2026-01-03 00:00:00' }]);
});

test('after the clock of the database was put back, a run of users without due ids ends the last success in the future', async () => {
  await start();
  await sync();
  await worker.query(
    `update safety_sync.stream_state set last_success_at = now() + interval '3 hours' where stream = 'users'`,
  );
  expectSucceeded(await worker.run('training-employee-status', { force: true }));
  await sync();
  expect(
    await worker.query(
      `select last_success_at <= now() as is_past from safety_sync.stream_state where stream = 'users'`,
    ),
  ).toEqual([{ is_past: true }]);
});

test('after the clock of the database was put back, users that were requested in its future are requested once more', async () => {
  await start();
  await sync();
  await worker.query(
    `update safety_sync.user_lookups set asked_at = now() + interval '1 year', due_at = now() + interval '53 weeks'`,
  );
  const users = (await lookups()).map((row) => row.user_id);
  worker.sandbox.requests.length = 0;
  await sync();
  expect(asked().map(String).toSorted()).toEqual(users);
  await sync();
  expect(asked()).toHaveLength(users.length);
});

test('a user that no record mentions any more stays in users', async () => {
  await start();
  await sync();
  const [row] = await worker.query<{ users: number }>('select count(*)::int as users from safety.users');
  for (const [key] of [...worker.sandbox.store.resources].slice(0, 2))
    worker.sandbox.store.resources.delete(key);
  expectSucceeded(await worker.run('resources'));
  await sync();
  const rows = await worker.query(
    'select count(*)::int as users from safety.users where _deleted_at is null',
  );
  expect(rows).toEqual([row]);
});

test('a user for whom the service returns somebody else has one open data issue, although each response differs', async () => {
  await start({}, { employees: 3, users: 3 });
  let requests = 0;
  const api = () => ({
    ...worker.context.api(),
    fetchObject: () => Promise.resolve({ id: 'owner of the token', requests: (requests += 1) }),
  });
  for (let run = 0; run < 2; run += 1)
    await runStream({ ...worker.context, api }, { stream: 'users', kind: 'reconcile', trigger: 'manual' });
  const open = await worker.query<{ asked_for: string; occurrences: string }>(
    `select value->>'asked_for' as asked_for, occurrences from safety_sync.data_issues where resolved_at is null`,
  );
  expect(open.map(({ asked_for: id }) => id).toSorted()).toEqual((await lookups()).map((row) => row.user_id));
  expect(open.map(({ occurrences }) => Number(occurrences))).toEqual(open.map(() => 2));
});
