/** The cached calculation: when it is requested, which part is stored, and which parts are never mixed (contract, 5.3). */
import { describe, expect, test } from 'vitest';
import type { SandboxOptions } from '../../../src/sandbox/index.ts';
import { HOUR_MS, MINUTE_MS } from '../../../src/shared/time.ts';
import { failedBy, type MemoryWorkerOptions, startWorker, worker } from '../../support/memory-world.ts';
import { casesOf } from '../../support/proof.ts';
import * as reading from '../../support/memory-world.ts';
import { SPECIMENS } from '../../support/specimens.ts';
import { NOON } from '../../support/test-clock.ts';

const STREAM = 'training-employee-status';
const SIZE = { followups: 0, employees: 30, equipment: 4, resources: 2, users: 8 };

const start = (options: MemoryWorkerOptions = {}, sandbox: SandboxOptions = {}) =>
  startWorker({ ...options, sandbox: { size: SIZE, ...sandbox } });
const sync = (force = false) => reading.sync(STREAM, { force });
const isEqual = () => reading.isEqual(STREAM);
const live = () => reading.stored(STREAM);
const employees = () => worker.sandbox.store.employees;
/** A run, and how many requests it made. */
async function requestsOfRun(): Promise<{ outcome: string; requests: number }> {
  worker.sandbox.requests.length = 0;
  const { outcome } = await worker.run(STREAM);
  return { outcome, requests: worker.sandbox.requests.length };
}
const calculatedAt = () => worker.stateOf(STREAM).calculatedAt;

describe('the time of the next request', () => {
  const clocks: [number, 'present' | 'absent'][] = [
    [-3, 'present'],
    [3, 'absent'],
    [3, 'present'],
    [-3, 'absent'],
  ];
  test.each(casesOf({ few: clocks.slice(0, 2), all: clocks }))(
    'if the local clock is %i h off and the Date header is %s, the calculation is requested after 15 minutes',
    async (hours, dateHeader) => {
      await start({ ourClockOffMs: hours * HOUR_MS }, { readings: { dateHeader } });
      await sync();
      for (let round = 0; round < 3; round += 1) {
        worker.time.now += 15 * MINUTE_MS;
        expect(await requestsOfRun()).toEqual({ outcome: 'succeeded', requests: 1 });
      }
      await isEqual();
    },
  );

  test('a last_updated far in the future delays no request for longer than 15 minutes', async () => {
    await start();
    worker.sandbox.store.recalculateTraining(NOON + 30 * 24 * HOUR_MS);
    await sync();
    worker.time.now += 15 * MINUTE_MS;
    expect(await requestsOfRun()).toEqual({ outcome: 'succeeded', requests: 1 });
  });
});

describe('a wrong last_updated', () => {
  /** Returns the service's present records, as calculated at that time. */
  const respondAs = (last_updated: number) => {
    worker.sandbox.store.recalculateTraining();
    worker.sandbox.hooks.rewriteResponse = (_entry, response) => ({ ...response, last_updated });
  };
  const first = () => [...employees().keys()][0] ?? '';

  test('a reconcile does not store an older calculation, so that it deletes no employee of the newer one', async () => {
    await start();
    await sync();
    worker.sandbox.store.employees.delete([...worker.sandbox.store.employees.keys()][0] ?? '');
    worker.time.now += 6 * MINUTE_MS;
    respondAs(NOON - 5 * MINUTE_MS);
    const before = worker.stateOf(STREAM).calculatedAt;
    const result = await worker.run(STREAM, { kind: 'reconcile', trigger: 'schedule' });
    expect(result).toMatchObject({ outcome: 'skipped', counts: { deleted: 0 } });
    expect(worker.stateOf(STREAM).calculatedAt).toEqual(before);
  });

  test('nothing is stored if last_updated has not moved, also of a calculation that was older than 15 minutes', async () => {
    await start();
    respondAs(NOON - HOUR_MS);
    await sync();
    employees().update(first(), { status: 'changed' });
    respondAs(NOON - HOUR_MS);
    expect(await requestsOfRun()).toEqual({ outcome: 'succeeded', requests: 1 });
    expect((await sync()).counts).toMatchObject({ read: 0, updated: 0 });
  });
});

describe('pages', () => {
  const paged = { readings: { largestPage: 7 } } as const;

  test('pages of two calculations are never mixed, because the read starts again', async () => {
    await start({}, paged);
    await sync();
    worker.time.now += 15 * MINUTE_MS;
    worker.sandbox.hooks.beforeResponse = ({ params }, store) => {
      if (params['page'] !== 3) return;
      worker.sandbox.hooks.beforeResponse = undefined;
      const [first, last] = [[...store.employees.keys()][0] ?? '', [...store.employees.keys()][29] ?? ''];
      for (const key of [first, last]) store.employees.update(key, { status: 'changed' });
      store.employees.put(SPECIMENS[STREAM].build('hired'));
      store.recalculateTraining(worker.serviceNow() + 1);
    };
    const result = await sync();
    expect(result.counts).toMatchObject({ read: 31, inserted: 1, updated: 2, unchanged: 28 });
    expect(calculatedAt()).toBe(worker.serviceNow() + 1);
    await isEqual();
  });

  test('a calculation that always changes between pages fails the run, which writes nothing', async () => {
    await start({}, paged);
    await sync();
    const [before, state] = [live(), worker.stateOf(STREAM)];
    worker.time.now += 15 * MINUTE_MS;
    let calculation = worker.serviceNow();
    worker.sandbox.hooks.beforeResponse = (_entry, store) => {
      store.employees.update([...store.employees.keys()][0] ?? '', { percent_complete: calculation % 100 });
      store.recalculateTraining((calculation += 1));
    };
    const result = await worker.run(STREAM);
    expect(result).toMatchObject(failedBy('calculation_unsettled'));
    expect(live()).toEqual(before);
    expect(worker.stateOf(STREAM)).toEqual(state);
  });

  test.each(casesOf<('refused' | 'empty')[]>({ few: ['refused'], all: ['refused', 'empty'] }))(
    'without paging, pages shorter than the limit are all read, and no employee is deleted (beyond the end: %s)',
    async (pastLastPage) => {
      await start({}, { readings: { trainingPaging: 'absent', pastLastPage } });
      await sync();
      worker.sandbox.readings.largestPage = 20;
      worker.time.now += 15 * MINUTE_MS;
      expect(await sync()).toMatchObject({ requests: 3, counts: { read: 30, unchanged: 30, deleted: 0 } });
      worker.sandbox.readings.largestPage = 10;
      worker.time.now += 15 * MINUTE_MS;
      expect(await sync()).toMatchObject({ requests: 4, counts: { read: 30, unchanged: 30, deleted: 0 } });
      await isEqual();
    },
  );

  const lies: Record<string, (page: number, response: Record<string, unknown>) => Record<string, unknown>> = {
    'a shortened page': (page, response) =>
      page === 2 ? { ...response, employees: (response['employees'] as unknown[]).slice(1) } : response,
    'an empty page that was announced without a total': (page, response) => ({
      ...response,
      paging: { last_page: 5 },
      ...(page === 5 ? { employees: [] } : {}),
    }),
  };
  test.each(Object.entries(lies))(
    'because of %s, the run fails and deletes no employee',
    async (_name, lie) => {
      await start({}, paged);
      await sync();
      const before = live();
      worker.time.now += 15 * MINUTE_MS;
      worker.sandbox.hooks.rewriteResponse = (entry, response) =>
        lie(Number(entry.params['page'] ?? 1), response);
      expect(await worker.run(STREAM)).toMatchObject(failedBy('read_incomplete'));
      expect(live()).toEqual(before);
      worker.sandbox.hooks.rewriteResponse = undefined;
      await sync(true);
      await isEqual();
    },
  );
});
