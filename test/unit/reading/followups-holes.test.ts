/** One follow-up that the service cannot render costs itself, and an outage is no such follow-up (contract, 5.1, 5.2). */
import { describe, expect, test } from 'vitest';
import type { Followup } from '../../../src/sandbox/index.ts';
import { MINUTE_MS } from '../../../src/shared/time.ts';
import { createGate } from '../../support/gate.ts';
import { casesOf, inProof } from '../../support/proof.ts';
import {
  failedBy,
  followups,
  idAt,
  isEqual,
  raise,
  reconcile,
  startWorker,
  stored,
  sync,
  touch,
  watermark,
  worker,
} from '../../support/reading.ts';

const start = (size = 120) =>
  startWorker({
    mostRetries: 1,
    settings: { sliceConcurrency: 2 },
    sandbox: {
      size: { followups: size, employees: 2, equipment: 2, resources: 2, users: 12 },
      readings: { largestPage: 10 },
    },
  });
const byCreation = (): Followup[] =>
  [...followups().values()].toSorted((a, b) => a.created_on - b.created_on);
const isFailing = failedBy('range_unreadable');
const failFor = (...ids: string[]): void => void (worker.sandbox.readings.unrenderable = ids);
const storedIds = () => [...stored().keys()];
const othersThan = (id: string): string[] => [...followups().keys()].filter((one) => one !== id);
const holes = () =>
  worker
    .warehouseOf('followups')
    .holes()
    .map(({ slice: { fromMs: from, toMs: to, failures } }) => ({ from, to, failures }));

describe('a follow-up for which the service fails', () => {
  const PLACES: [string, number][] = [
    ['the newest one', 120],
    ['one of the middle', 61],
    ['the oldest', 0],
  ];
  test.each(casesOf({ few: PLACES.slice(0, 1), all: PLACES }))(
    'a first sync stores all other follow-ups if the service fails for %s',
    async (_name, at) => {
      await start();
      worker.time.now += MINUTE_MS;
      raise('brand-new');
      const broken = byCreation()[at];
      if (broken === undefined) throw new Error('no such follow-up');
      failFor(broken.id);
      const result = await worker.run('followups');
      expect(result).toMatchObject(isFailing);
      expect(result.outcome === 'failed' && result.error.message).toContain(
        new Date(broken.created_on).toISOString(),
      );
      expect(storedIds().toSorted()).toEqual(othersThan(broken.id).toSorted());
      expect(holes()).toEqual([{ from: broken.created_on, to: broken.created_on + 1, failures: 1 }]);
      expect(watermark()).not.toBeNull();
      expect(result.requests).toBeLessThan(300);

      worker.time.now += MINUTE_MS;
      raise('later');
      expect(await worker.run('followups')).toMatchObject(isFailing);
      expect(storedIds()).toContain('later');
      expect(holes()).toMatchObject([{ failures: 2 }]);

      failFor();
      await sync();
      await isEqual();
      expect(holes()).toEqual([]);
    },
  );

  inProof(() => {
    test('with five failing follow-ups a first sync leaves out their milliseconds and stores all others', async () => {
      await start();
      const broken = [3, 31, 59, 87, 101].flatMap((at) => byCreation()[at] ?? []);
      failFor(...broken.map(({ id }) => id));
      expect(await worker.run('followups')).toMatchObject(isFailing);
      const times = broken.map(({ created_on: from }) => from);
      const others = byCreation().filter(({ created_on: from }) => !times.includes(from));
      expect(storedIds()).toEqual(expect.arrayContaining(others.map(({ id }) => id)));
      expect(holes()).toEqual(times.toReversed().map((from) => ({ from, to: from + 1, failures: 1 })));
      failFor();
      await sync();
      await isEqual();
    });
  });

  test('a sync of changes stores all other follow-ups, and the failing one when the service returns it again', async () => {
    await start();
    await sync();
    worker.time.now += MINUTE_MS;
    const id = idAt(50);
    touch(id);
    failFor(id);
    for (let at = 0; at < 5; at += 1) raise(`new-${at}`);
    const before = watermark();
    const result = await worker.run('followups');
    expect(result).toMatchObject({ ...isFailing, counts: { inserted: 5 } });
    expect(result.requests).toBeLessThan(300);
    // Its hole is stored now: it is tried once, with the retry of a request that has failed before.
    worker.time.now += 60 * MINUTE_MS;
    raise('later');
    const again = await worker.run('followups');
    expect(again).toMatchObject({ ...isFailing, counts: { inserted: 1 } });
    expect(again.requests).toBeLessThan(12);
    expect(watermark()).toBeGreaterThan(before ?? Infinity);
    failFor();
    await sync();
    await isEqual();
  });

  test('a reconcile stores all other follow-ups and deletes nothing if the service fails for one', async () => {
    await start();
    await sync();
    failFor(idAt(50));
    followups().delete(idAt(90));
    followups().update(idAt(91), { m_assignee_id: 'moved' });
    const result = await worker.run('followups', { kind: 'reconcile' });
    expect(result).toMatchObject({ ...isFailing, counts: { updated: 1, deleted: 0 } });
    failFor();
    await reconcile();
    await isEqual();
  });

  const UNDATED = ['unfiltered', 'as-before'] as const;
  test.each(casesOf<readonly (typeof UNDATED)[number][]>({ few: ['unfiltered'], all: UNDATED }))(
    'beside a failing follow-up and one without a creation time (%s), changes are stored, and both are stored when the service returns them',
    async (undatedFollowups) => {
      await start();
      worker.sandbox.readings.undatedFollowups = undatedFollowups;
      followups().update(idAt(30), { created_on: null as never });
      failFor(idAt(61));
      expect(await worker.run('followups')).toMatchObject(isFailing);
      expect(watermark()).not.toBeNull();
      worker.time.now += 60 * MINUTE_MS;
      for (const place of [10, 30, 61]) touch(idAt(place));
      expect(await worker.run('followups')).toMatchObject(isFailing);
      expect(stored().get(idAt(10))).toMatchObject({ m_assignee_id: 'moved' });
      failFor();
      await sync();
      await isEqual();
      expect(holes()).toEqual([]);
    },
  );

  test.each(casesOf({ few: [false], all: [true, false] }))(
    'a sync leaves out only the millisecond of a failing follow-up, if it has more follow-ups than a response (first sync: %s)',
    async (isFirst) => {
      await start();
      if (!isFirst) await sync();
      worker.time.now += MINUTE_MS;
      for (let at = 0; at < 30; at += 1) raise(`crowd-${at}`);
      worker.time.now += MINUTE_MS;
      raise('new');
      failFor('crowd-13');
      for (let round = 0; round < 2; round += 1) {
        expect(await worker.run('followups')).toMatchObject(isFailing);
        expect(watermark()).toBe(worker.serviceNow());
        expect(storedIds()).toContain('new');
      }
      failFor();
      await sync();
      await isEqual();
    },
  );

  inProof(() => {
    test('a follow-up raised after the plan is stored, also if its slice with a failing one cannot be divided further', async () => {
      await start(240);
      // The first sync is cut off after its plan.
      worker.sandbox.faults.next(
        ({ params }) => 'created_after' in params,
        { kind: 'error', error: 'parameter_invalid' },
        100,
      );
      expect(await worker.run('followups')).toMatchObject({ outcome: 'failed' });
      worker.sandbox.faults.clear();
      const topFrom = Math.max(...worker.warehouseOf('followups').slices.map(({ slice }) => slice.fromMs));
      worker.time.now += MINUTE_MS;
      raise('after the plan');
      worker.time.now += MINUTE_MS;
      raise('newest');
      worker.time.now += 28 * MINUTE_MS;
      const sorted = byCreation().map(({ id }) => id);
      touch(sorted[160] ?? '');
      failFor(...[25, 75, 95, 115, 135, 238].map((at) => sorted[at] ?? ''));
      // The response for the newest slice comes last: until then the other failures have used all divisions.
      const others = createGate();
      let ofOldest = 0;
      worker.sandbox.hooks.beforeResponse = async ({ params }) => {
        if (params['limit'] !== 500) return;
        const [after, before] = [params['created_after'], params['created_before']];
        if (before === undefined && Number(after) >= topFrom - 1) await others.opened;
        if (after === undefined && before !== undefined && (ofOldest += 1) === 2) others.open();
      };
      expect(await worker.run('followups')).toMatchObject(isFailing);
      worker.sandbox.hooks.beforeResponse = undefined;
      failFor();
      worker.time.now += MINUTE_MS;
      await sync();
      await isEqual();
    });
  });

  test('a change in a range that was replanned and partly read is stored after the worker was killed', async () => {
    await start();
    await sync();
    const at = (place: number): number => byCreation()[place]?.created_on ?? 0;
    const slice = { fromMs: at(20), toMs: at(80), readToMs: at(40), expected: 60, records: 40, failures: 1 };
    worker.warehouseOf('followups').write({ kind: 'slice', slice: { ...slice, status: 'pending' } });
    worker.time.now += MINUTE_MS;
    touch(byCreation()[60]?.id ?? '');
    await sync();
    await isEqual();
    expect(holes()).toEqual([]);
  });
});

test('an outage in which every response fails leads to a few requests and no hole', async () => {
  await start();
  for (const isFirst of [true, false]) {
    failFor(...followups().keys());
    if (!isFirst) followups().update(idAt(50), { updated_on: worker.serviceNow() });
    const result = await worker.run('followups');
    expect(result).toMatchObject(failedBy('server_error'));
    expect(result.requests).toBeLessThan(12);
    expect(holes()).toEqual([]);
    failFor();
    await sync();
  }
  await isEqual();
});
