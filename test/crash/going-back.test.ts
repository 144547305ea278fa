/** Older data never replaces newer data, and records that one response withheld are requested (contract, 5.2, 5.3, 5.7). */
import { afterEach, expect, test } from 'vitest';
import { MINUTE_MS } from '../../src/shared/time.ts';
import { createTimedWorker, expectSucceeded, type TimedWorker } from '../support/timed-worker.ts';
import { SMALL_SANDBOX } from '../support/worker.ts';
import { rowVersions, stateOf } from '../support/warehouse-marks.ts';

let worker: TimedWorker;
afterEach(() => worker.close());

test('when every newest change was taken back, the watermark stays where it was', async () => {
  worker = await createTimedWorker({ settings: { followupsOverlapMs: 60 * MINUTE_MS } });
  const { followups } = worker.sandbox.store;
  const now = worker.serviceNow();
  for (const id of [...followups.keys()].slice(0, 3)) followups.update(id, { updated_on: now });
  expectSucceeded(await worker.run('followups', { kind: 'backfill' }));
  worker.time.now += MINUTE_MS;
  followups.put({
    ...followups.get([...followups.keys()][9] ?? ''),
    id: 'newest',
    created_on: now,
    updated_on: now,
  });
  expectSucceeded(await worker.run('followups'));
  expect((await stateOf(worker, 'followups')).watermark).toBe(now);
  for (const [id, one] of [...followups]) {
    if (one.updated_on === now) followups.update(id, { updated_on: now - 30 * MINUTE_MS });
  }
  expectSucceeded(await worker.run('followups'));
  expect((await stateOf(worker, 'followups')).watermark).toBe(now);
});

test('a cached training report that is older than the stored one writes nothing', async () => {
  worker = await createTimedWorker();
  const stream = 'training-employee-status';
  expectSucceeded(await worker.run(stream));
  const { employees } = worker.sandbox.store;
  for (const key of [...employees.keys()].slice(0, 4)) employees.delete(key);
  worker.sandbox.store.recalculateTraining(worker.serviceNow() - 30 * MINUTE_MS + 20 * MINUTE_MS);
  const before = await rowVersions(worker);
  const state = await stateOf(worker, stream);
  expect(await worker.run(stream, { force: true })).toMatchObject({ outcome: 'skipped', requests: 1 });
  expect(await rowVersions(worker)).toEqual(before);
  expect(await stateOf(worker, stream)).toEqual(state);
});

test('of two versions in one response the newer one is stored, in whichever order they come', async () => {
  worker = await createTimedWorker();
  const { followups } = worker.sandbox.store;
  const [one] = [...followups.values()];
  const now = worker.serviceNow();
  // The sandbox shows the later slot first among those of one millisecond.
  const twin = { ...one, created_on: now, m_assignee_id: 'older', updated_on: now - MINUTE_MS };
  followups.put({ ...twin, id: 'twin' }, 'twin-1');
  followups.put({ ...twin, id: 'twin', m_assignee_id: 'newer', updated_on: now }, 'twin-2');
  expectSucceeded(await worker.run('followups'));
  const stored = await worker.query(`select assignee_id from safety.followups where id = 'twin'`);
  expect(stored).toEqual([{ assignee_id: 'newer' }]);
});

test('a record that a full response kept back is found by the totals that no longer add up', async () => {
  worker = await createTimedWorker({
    settings: { followupsOverlapMs: 10 * 365 * 24 * 60 * MINUTE_MS },
    sandbox: { size: SMALL_SANDBOX, readings: { largestPage: 20 } },
  });
  expectSucceeded(await worker.run('followups'));
  const { followups } = worker.sandbox.store;
  const newestFirst = () => [...followups.values()].toSorted((a, b) => b.created_on - a.created_on);
  const fifth = newestFirst()[4];
  followups.put({ ...fifth, id: 'kept-back', updated_on: worker.serviceNow() });
  worker.sandbox.hooks.rewriteResponse = (_, response) => {
    worker.sandbox.hooks.rewriteResponse = undefined;
    const shown = (response['followups'] as { id: string }[]).filter(({ id }) => id !== 'kept-back');
    const known = new Set(['kept-back', ...shown.map(({ id }) => id)]);
    return { ...response, followups: [...shown, newestFirst().find(({ id }) => !known.has(id))] };
  };
  expectSucceeded(await worker.run('followups'));
  expect(await worker.query(`select id from safety.followups where id = 'kept-back'`)).toHaveLength(1);
});
