/** No change is ever passed by: what the watermark survives (contract, "What always holds", 2). */
import { describe, expect, test } from 'vitest';
import { HOUR_MS, MINUTE_MS } from '../../../src/shared/time.ts';
import { casesOf } from '../../support/proof.ts';
import {
  failedBy,
  followups,
  idAt,
  isEqual,
  reconcile,
  startWorker,
  sync,
  watermark,
  worker,
} from '../../support/reading.ts';
import { SPECIMENS } from '../../support/specimens.ts';
import { NOON } from '../../support/test-clock.ts';
import type { MemoryWorker, MemoryWorkerOptions } from '../../support/memory-worker.ts';

const SIZE = { followups: 60, employees: 4, equipment: 4, resources: 2, users: 8 };
const YEAR_2100 = Date.UTC(2100, 0, 1);

const start = (options: MemoryWorkerOptions = {}) =>
  startWorker({ ...options, sandbox: { size: SIZE, ...options.sandbox } });
const newestUpdate = () => Math.max(...[...followups().values()].map((one) => one.updated_on));
const keyOfNewest = () => [...followups()].find(([, one]) => one.updated_on === newestUpdate())?.[0] ?? '';

test('a sync without changes sends one request, from the watermark minus the overlap and one millisecond', async () => {
  await start({ settings: { followupsOverlapMs: 5 * MINUTE_MS } });
  await sync();
  worker.sandbox.requests.length = 0;
  const result = await sync();
  expect(worker.sandbox.requests).toMatchObject([
    { method: 'followups.list', params: { updated_after: newestUpdate() - 5 * MINUTE_MS - 1 } },
  ]);
  expect(result).toMatchObject({ requests: 1, counts: { inserted: 0, updated: 0, deleted: 0 } });
});

test('a failed run does not move the watermark, and the next run reads the missed changes', async () => {
  await start();
  await sync();
  const before = watermark();
  worker.time.now += MINUTE_MS;
  worker.sandbox.live.step(20);
  worker.sandbox.faults.next(() => true, { kind: 'error', error: 'content_not_found' });
  const failed = await worker.run('followups');
  expect(failed).toMatchObject(failedBy('content_not_found'));
  expect(watermark()).toBe(before);
  await sync();
  expect(watermark()).toBe(newestUpdate());
  await isEqual();
});

test('an empty source has no watermark, and its first follow-up is read', async () => {
  await start({ sandbox: { size: { ...SIZE, followups: 0 } } });
  await sync();
  followups().put(SPECIMENS.followups.build('first'));
  await sync();
  await isEqual();
});

const HOURS = [-3, 3] as const;
const all = HOURS.flatMap((service) => [-3, 0, 3].map((ours) => ({ service, ours })));

describe.each(['present', 'absent'] as const)('with a Date header that is %s', (dateHeader) => {
  /** The clocks as far apart as they get, one way with the header and the other way without. */
  const behind = dateHeader === 'present' ? 3 : -3;
  const few = all.filter(({ service, ours }) => ours === -service && service === behind);
  test.each(casesOf({ few, all }))(
    'if the local clock is $ours h and the clock of the service $service h off, every change is read, also after a record of the year 2100',
    async ({ service, ours }) => {
      await start({
        ourClockOffMs: ours * HOUR_MS,
        serviceClockOffMs: service * HOUR_MS,
        settings: { followupsOverlapMs: 0 },
        sandbox: { size: SIZE, readings: { dateHeader } },
      });
      await sync();
      for (let round = 0; round < 2; round += 1) {
        worker.time.now += 10 * MINUTE_MS;
        worker.sandbox.live.step(15);
        await sync();
        await isEqual();
        expect(watermark()).toBeLessThanOrEqual(worker.serviceNow());
      }
      // All records at the watermark move to the year 2100: nothing else is left to go by.
      worker.time.now += MINUTE_MS;
      const newest = newestUpdate();
      for (const [key, one] of [...followups()]) {
        if (one.updated_on === newest) followups().update(key, { updated_on: YEAR_2100 });
      }
      await sync();
      expect(watermark()).toBeLessThanOrEqual(worker.serviceNow());
      worker.time.now += MINUTE_MS;
      worker.sandbox.live.step(15);
      await sync();
      await isEqual();
    },
  );
});

test.each([-3, 3])(
  'if the times of records are %s h off the Date header of a gateway, every change is read',
  async (hours) => {
    await start({ settings: { followupsOverlapMs: 0 } });
    await sync();
    const keys = [...followups().keys()];
    for (let round = 0; round < 4; round += 1) {
      worker.time.now += 2 * HOUR_MS;
      for (const key of keys.slice(round * 5, round * 5 + 7)) {
        const updated_on = worker.time.now + hours * HOUR_MS + round;
        followups().update(key, { updated_on, m_assignee_id: `u${round}` });
      }
      await sync();
      await isEqual();
      expect(watermark()).toBeLessThanOrEqual(worker.serviceNow());
    }
  },
);

test('a record from the future that is corrected later is stored with its right time', async () => {
  await start();
  await sync();
  const key = keyOfNewest();
  followups().update(key, { updated_on: YEAR_2100 });
  await sync();
  worker.time.now += MINUTE_MS;
  followups().update(key, { updated_on: worker.serviceNow() });
  await sync();
  await isEqual();
});

test('if the clock of the service stands still, a sync sends at most two requests and misses no change', async () => {
  const clocks = { service: NOON, ours: NOON };
  await startWorker({
    // Each request takes a minute, so the service's clock is a minute further behind in each response.
    clock: { now: () => (clocks.ours += MINUTE_MS), monotonicMs: () => performance.now() },
    settings: { followupsOverlapMs: 0 },
    sandbox: { size: SIZE, clock: () => clocks.service },
  });
  await sync();
  const change = (at: number, name: string) => {
    followups().update(idAt(at), { m_assignee_id: name, updated_on: clocks.service });
  };
  for (const at of [0, 1, 2]) {
    change(at, `standing-${at}`);
    expect((await sync()).requests).toBeLessThanOrEqual(2);
    await isEqual();
  }
  clocks.service += HOUR_MS;
  change(3, 'going on');
  await sync();
  await isEqual();
});

describe('a clock that was ahead and is corrected', () => {
  const off = { service: 0, ours: 0 };
  let started: MemoryWorker | undefined;
  const now = () => started?.time.now ?? NOON;
  const serviceNow = () => now() + off.service;
  const change = (at: number, name: string) => {
    followups().update(idAt(at), { m_assignee_id: name, updated_on: serviceNow() });
  };
  /** The service's clock is an hour ahead, and what it changes then is stored. */
  async function startAhead(): Promise<void> {
    Object.assign(off, { service: HOUR_MS, ours: 0 });
    started = undefined;
    await startWorker({
      clock: { now: () => now() + off.ours, monotonicMs: () => performance.now() },
      settings: { followupsOverlapMs: 0 },
      sandbox: { size: SIZE, clock: serviceNow },
    });
    started = worker;
    change(0, 'first');
    await sync();
    worker.time.now += 15 * MINUTE_MS;
    change(0, 'while-ahead');
    await sync();
    expect(watermark()).toBe(serviceNow());
    off.service = 0;
  }

  test.each([
    ['before the time of the service has reached the watermark', 3],
    ['after the time of the service has reached the watermark', 9],
  ])(
    'if the clock of the service was ahead, a sync %s reads the changes since its correction',
    async (_name, changes) => {
      await startAhead();
      for (let number = 1; number <= changes; number += 1) {
        worker.time.now += 10 * MINUTE_MS;
        change(number, `after-${number}`);
      }
      const { counts, ...ended } = await sync();
      expect(counts).toMatchObject({ inserted: 0, updated: changes });
      expect('note' in ended && ended.note).toContain(
        'the service’s clock went back, or ours jumped ahead: read again from 2026-03-02',
      );
      await isEqual();
      expect(watermark()).toBe(serviceNow());
      // Once is enough.
      worker.time.now += 10 * MINUTE_MS;
      change(20, 'later');
      expect(await sync()).toMatchObject({ requests: 1, note: null, counts: { updated: 1 } });
      await isEqual();
    },
  );

  test('if the clock of the service was ahead, the watermark is corrected also without changes', async () => {
    await startAhead();
    worker.time.now += 10 * MINUTE_MS;
    await sync();
    expect(watermark()).toBeLessThanOrEqual(serviceNow());
    change(1, 'next');
    worker.time.now += 10 * MINUTE_MS;
    expect((await sync()).counts).toMatchObject({ updated: 1 });
    await isEqual();
  });

  test('if the clock of the service was ahead, a reconcile reads the changes since its correction', async () => {
    await startAhead();
    worker.time.now += 20 * MINUTE_MS;
    change(1, 'after');
    expect((await reconcile()).counts).toMatchObject({ updated: 1 });
    await isEqual();
    expect(watermark()).toBe(serviceNow());
  });

  test('if the clock of the service was ahead, a backfill reads everything again', async () => {
    await startAhead();
    worker.time.now += 10 * MINUTE_MS;
    await sync();
    followups().update(idAt(2), { m_assignee_id: 'silently' });
    const { counts } = await sync('followups', { kind: 'backfill' });
    expect(counts).toMatchObject({ read: 60, updated: 1 });
    await isEqual();
  });

  test('if the local clock is ahead for a time, one sync reads more, and no change is missed', async () => {
    await startAhead();
    off.service = HOUR_MS;
    off.ours = 24 * HOUR_MS;
    worker.time.now += 10 * MINUTE_MS;
    change(1, 'after');
    expect(await sync()).toMatchObject({ requests: 2, counts: { updated: 1 } });
    await isEqual();
    expect(watermark()).toBe(serviceNow());
    off.ours = 0;
    worker.time.now += 10 * MINUTE_MS;
    change(2, 'ours came right');
    expect(await sync()).toMatchObject({ requests: 1, counts: { updated: 1 } });
    await isEqual();
  });
});
