/** Drift is found by counting; ranges that the service does not return stay open (contract, §8). */
import { describe, expect, test } from 'vitest';
import type { RequestLogEntry } from '../../../src/sandbox/index.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../../src/shared/time.ts';
import {
  failedBy,
  followups,
  idAt,
  isEqual,
  raise,
  reconcile,
  rewriteFollowups,
  startWorker,
  stored,
  sync,
  touch,
  watermark,
  worker,
} from '../../support/memory-world.ts';

const start = () =>
  startWorker({
    mostRetries: 1,
    settings: { followupsOverlapMs: 0 },
    sandbox: {
      size: { followups: 130, employees: 2, equipment: 2, resources: 2, users: 8 },
      readings: { largestPage: 20 },
    },
  });
const startSynced = () => start().then(() => sync());
const scheduled = () => sync('followups', { trigger: 'schedule' });
/** Whether the run read everything: it sent a request for many records without a filter. */
async function readsAll(run: () => Promise<unknown>): Promise<boolean> {
  worker.sandbox.requests.length = 0;
  await run();
  const isUnfiltered = ({ params }: RequestLogEntry) => params['limit'] !== 1 && !('updated_after' in params);
  return worker.sandbox.requests.some(isUnfiltered);
}

describe('counting', () => {
  test('a sync by hand finds a deletion, a record that became visible again, and a change behind the watermark that added one', async () => {
    await startSynced();
    const hidden = followups().get(idAt(3));
    followups().delete(idAt(3));
    expect((await sync()).counts).toMatchObject({ deleted: 1 });
    await isEqual();
    followups().put(hidden ?? {});
    expect((await sync()).counts).toMatchObject({ inserted: 0, updated: 1 });
    await isEqual();
    followups().put({ ...followups().get(idAt(5)), id: 'late', updated_on: (watermark() ?? 0) - HOUR_MS });
    expect((await sync()).counts).toMatchObject({ inserted: 1 });
    await isEqual();
  });

  test('traffic while a sync runs is no drift', async () => {
    await startSynced();
    worker.time.now += MINUTE_MS;
    let raised = 0;
    worker.sandbox.hooks.beforeResponse = ({ params }) => {
      if (params['limit'] !== 1) return;
      worker.time.now += 1000;
      raise(`raised-${(raised += 1)}`);
    };
    for (let round = 0; round < 4; round += 1) {
      expect(await readsAll(sync)).toBe(false);
      worker.time.now += 15 * MINUTE_MS;
    }
    worker.sandbox.hooks.beforeResponse = undefined;
    await sync();
    await isEqual();
  });

  test('a scheduled sync reads everything again an hour after the last attempt, also after one that failed', async () => {
    await startSynced();
    followups().delete(idAt(0));
    expect(await readsAll(scheduled)).toBe(true);
    await isEqual();
    followups().delete(idAt(1));
    worker.time.now += 30 * MINUTE_MS;
    expect(await readsAll(scheduled)).toBe(false);
    expect(await scheduled()).toMatchObject({
      note: expect.stringContaining('the service counts 1 follow-up fewer than are stored') as unknown,
    });
    worker.time.now += 31 * MINUTE_MS;
    const isUnfiltered = ({ params }: RequestLogEntry) =>
      params['limit'] === 500 && !('updated_after' in params);
    worker.sandbox.faults.next(isUnfiltered, { kind: 'error', error: 'parameter_invalid' }, 2);
    expect(await worker.run('followups', { trigger: 'schedule' })).toMatchObject(
      failedBy('parameter_invalid'),
    );
    worker.sandbox.faults.clear();
    worker.time.now += 15 * MINUTE_MS;
    expect(await readsAll(scheduled)).toBe(false);
    worker.time.now += 50 * MINUTE_MS;
    expect(await readsAll(scheduled)).toBe(true);
    await isEqual();
  });

  test('a difference that a complete read leaves is remembered, and is forgotten by the first sync without one', async () => {
    await start();
    const broken = idAt(0);
    // It is counted, and cannot be stored.
    rewriteFollowups((list) => list.map((one) => (one.id === broken ? { ...one, id: null } : one)));
    await sync();
    expect(await readsAll(sync)).toBe(true);
    expect(await readsAll(sync)).toBe(false);
    expect(worker.stateOf('followups').completeRead.difference).toBe(1);
    rewriteFollowups(undefined);
    touch(broken);
    expect(await readsAll(sync)).toBe(false);
    expect(worker.stateOf('followups').completeRead.difference).toBe(0);
    followups().delete(idAt(1));
    expect(await readsAll(sync)).toBe(true);
  });

  test('a reconcile marks missing records deleted, stores changes that syncs missed, and undeletes returned records', async () => {
    await startSynced();
    const [first, second, third] = [idAt(0), idAt(1), idAt(2)];
    const whole = followups().get(first);
    followups().delete(first);
    followups().update(second, { m_assignee_id: 'changed without a new time' });
    expect((await reconcile()).counts).toMatchObject({ inserted: 0, updated: 1, deleted: 1 });
    await isEqual();
    expect(stored().has(first)).toBe(false);

    followups().put(whole ?? {});
    followups().update(third, { updated_on: worker.serviceNow() });
    await reconcile();
    await isEqual();
    expect(stored().size).toBe(130);
  });

  test('a reconcile whose response is late marks no row that it has read, or that changed within the hour, and a later sync looks again', async () => {
    await startSynced();
    worker.time.now += 2 * HOUR_MS;
    const late = new Set(['late-1', 'late-2']);
    for (const id of late) raise(id);
    touch(idAt(7));
    const old = idAt(9);
    followups().delete(old);
    let isLate = false;
    worker.sandbox.hooks.beforeResponse = ({ params }) => void (isLate = !('updated_after' in params));
    worker.sandbox.hooks.rewriteResponse = (_entry, response) => {
      const list = response['followups'] as { id: string }[];
      const paging = response['paging'] as { total: number };
      if (!isLate) return response;
      const shown = list.filter(({ id }) => !late.has(id));
      return { ...response, followups: shown, paging: { ...paging, total: paging.total - 2 } };
    };
    await reconcile();
    expect([stored().has('late-1'), stored().has('late-2'), stored().has(old)]).toEqual([true, true, false]);
    worker.sandbox.hooks.beforeResponse = undefined;
    worker.sandbox.hooks.rewriteResponse = undefined;
    await sync();
    await isEqual();
  });

  test('a follow-up that is gone between the changes and the complete read of one run is looked for again', async () => {
    await startSynced();
    worker.time.now += 2 * HOUR_MS;
    const gone = idAt(7);
    touch(gone);
    worker.sandbox.hooks.beforeResponse = ({ params }) => {
      if (!('updated_after' in params)) followups().delete(gone);
    };
    await reconcile();
    expect(stored().has(gone)).toBe(true);
    worker.time.now += 2 * HOUR_MS;
    await sync();
    await isEqual();
  });

  test('a deletion is found also where the time of the last change lies in the future', async () => {
    await start();
    followups().update(idAt(9), { updated_on: worker.serviceNow() + 30 * DAY_MS });
    await sync();
    followups().delete(idAt(9));
    await sync();
    await isEqual();
  });
});

describe('a failed slice', () => {
  const broken = () =>
    [...followups().values()].toSorted((a, b) => a.created_on - b.created_on)[40]?.id ?? '';
  const open = () => worker.warehouseOf('followups').slices.filter(({ status }) => status === 'failed');

  test('a follow-up that the service cannot return fails every run and is named; all others and their changes are stored', async () => {
    await start();
    const id = broken();
    worker.sandbox.readings.unrenderable = [id];
    const isFailing = failedBy('range_unreadable');
    expect(await worker.run('followups')).toMatchObject(isFailing);
    expect(stored().size).toBe(followups().size - 1);
    expect(open()).toHaveLength(1);
    worker.time.now += HOUR_MS;
    touch(idAt(100));
    touch(id);
    raise('new');
    expect(await worker.run('followups')).toMatchObject({
      ...isFailing,
      counts: { inserted: 1, updated: 1 },
    });
    expect(watermark()).toBe(worker.serviceNow());
    expect(open()).toHaveLength(1);
    followups().delete(idAt(101));
    expect(await worker.run('followups', { kind: 'reconcile' })).toMatchObject({
      ...isFailing,
      counts: { deleted: 0 },
    });
    worker.sandbox.readings.unrenderable = [];
    await sync();
    expect(open()).toEqual([]);
    await isEqual();
  });

  test('a service that announces more than it returns fails the run, stores what it returned, and deletes nothing', async () => {
    await startSynced();
    const kept = idAt(20);
    worker.time.now += MINUTE_MS;
    followups().delete(idAt(21));
    touch(kept);
    raise('delivered');
    rewriteFollowups((list) => list.filter(({ id }) => id !== kept));
    expect(await worker.run('followups')).toMatchObject({
      ...failedBy('read_incomplete'),
      counts: { deleted: 0 },
    });
    expect(stored().has('delivered')).toBe(true);
    worker.time.now += MINUTE_MS;
    raise('later');
    expect(await worker.run('followups')).toMatchObject(failedBy('read_incomplete'));
    expect(stored().has('later')).toBe(true);
    rewriteFollowups(undefined);
    await sync();
    await sync();
    await isEqual();
  });
});
