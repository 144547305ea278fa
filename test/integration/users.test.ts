/** Names are looked up one by one, rarely, and never at the cost of anything else. */
import { afterEach, describe, expect, test } from 'vitest';
import type { Readings } from '../../src/sandbox/index.ts';
import { expectWarehouseEqualsSource } from '../support/source-oracle.ts';
import { SPECIMENS } from '../support/specimens.ts';
import { createTimedWorker, expectSucceeded, type TimedWorker } from '../support/timed-worker.ts';
import { rowVersions, runsOf } from '../support/warehouse-marks.ts';

let worker: TimedWorker;
afterEach(() => worker.close());

/** Everything but the users is stored. */
async function start(readings: Partial<Readings> = {}): Promise<void> {
  worker = await createTimedWorker({
    sandbox: {
      size: { followups: 30, employees: 20, equipment: 12, resources: 6, users: 14 },
      readings,
    },
  });
  for (const stream of ['resources', 'followups', 'training-employee-status', 'equipments'] as const) {
    expectSucceeded(await worker.run(stream));
  }
  worker.sandbox.requests.length = 0;
}
const sync = async () => {
  const result = await worker.run('users');
  expectSucceeded(result);
  return result;
};
const isEqual = () => expectWarehouseEqualsSource(worker, { tables: ['users'] });
const asked = () => worker.sandbox.requests.map(({ params }) => params['user']);
const lookups = async () =>
  await worker.query<{ user_id: string; is_known: boolean | null; hours: number | null }>(
    `select user_id, is_known, round(extract(epoch from due_at - asked_at) / 3600)::int as hours
     from safety_sync.user_lookups order by user_id`,
  );

describe.each([
  ['text', 'content_not_found'],
  ['numbers', 'parameter_invalid'],
] as const)('ids as %s, unknown users told as %s', (identifiers, unknownUser) => {
  test('everyone whom a stored record mentions is asked for once', async () => {
    await start({ identifiers, unknownUser });
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

  test('someone whom the service does not know is not asked for again, and is no failure', async () => {
    await start({ identifiers, unknownUser });
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
});

test('a name is refreshed after about a week, and a new person is asked for at once', async () => {
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
    `update safety_sync.user_lookups set due_at = due_at - interval '8 days' where is_known`,
  );
  const { counts } = await sync();
  expect(counts).toMatchObject({ inserted: 0, updated: 1 });
  await isEqual();
});

test.each([
  ['the service does not offer the method', 'api_method_not_found'],
  ['the token may not ask for it', 'token_permission'],
] as const)('when %s the run is skipped, says why, and nothing fails', async (_name, error) => {
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

test('a failure in the middle keeps what was answered, and the next run asks only for the rest', async () => {
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

test('someone whom no record mentions any longer keeps the name', async () => {
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
