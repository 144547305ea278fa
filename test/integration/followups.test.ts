/** Follow-ups in PostgreSQL: reads, watermark, holes and reconciles as a run stores them. Readers alone: test/unit/reading. */
import { afterEach, describe, expect, test } from 'vitest';
import type { Readings } from '../../src/sandbox/index.ts';
import { HOUR_MS, MINUTE_MS } from '../../src/shared/time.ts';
import { expectWarehouseEqualsSource } from '../support/source-oracle.ts';
import { NOON } from '../support/test-clock.ts';
import {
  createTimedWorker,
  expectSucceeded,
  type TimedWorker,
  type TimedWorkerOptions,
} from '../support/timed-worker.ts';
import { rowVersions, stateOf } from '../support/warehouse-marks.ts';

const SIZE = { followups: 130, employees: 4, equipment: 4, resources: 2, users: 8 };
const tables = ['followups', 'followup_messages', 'followup_attachments'] as const;

let worker: TimedWorker;
afterEach(() => worker.close());

async function start(options: TimedWorkerOptions = {}, readings: Partial<Readings> = {}): Promise<void> {
  worker = await createTimedWorker({ ...options, sandbox: { size: SIZE, readings } });
}
const sync = async () => expectSucceeded(await worker.run('followups'));
const isEqual = () => expectWarehouseEqualsSource(worker, { tables });
const store = () => worker.sandbox.store.followups;
const watermark = async () => (await stateOf(worker, 'followups')).watermark;
const newestUpdate = () => Math.max(...[...store().values()].map((one) => one.updated_on));

test('if the service fails for a follow-up, scheduled runs request it again only after a delay that doubles with each failure', async () => {
  await start({ mostRetries: 1, settings: { sliceConcurrency: 2 } }, { largestPage: 10 });
  worker.sandbox.readings.unrenderable = [[...store().keys()][50] ?? ''];
  await worker.run('followups');
  const asked = async (): Promise<number> => {
    worker.sandbox.requests.length = 0;
    expect(await worker.run('followups', { trigger: 'schedule' })).toMatchObject({
      outcome: 'failed',
      error: { code: 'range_unreadable' },
    });
    return worker.sandbox.requests.filter(({ outcome }) => outcome === 'server_error').length;
  };
  const age = (minutes: number) =>
    worker.query(
      `update safety_sync.backfill_slices set finished_at = now() - interval '${minutes} min' where failures > 0`,
    );
  expect(await asked()).toBe(0);
  await age(16);
  expect(await asked()).toBe(2);
  await age(16);
  expect(await asked()).toBe(0);
  await age(31);
  expect(await asked()).toBe(2);
  expect(
    await worker.query(`select failures from safety_sync.backfill_slices where status = 'failed'`),
  ).toEqual([{ failures: 3 }]);
  // The clock of the database was a year ahead, and was put back.
  await age(-525_600);
  expect(await asked()).toBe(2);
  expect(await asked()).toBe(0);
});

test('a reconcile that was begun by the clock of the database before it was put back does not count as recent', async () => {
  await start();
  const reconcile = () => worker.run('followups', { kind: 'reconcile', unlessBegunWithinMs: () => 60_000 });
  expectSucceeded(await reconcile());
  expect(await reconcile()).toMatchObject({ outcome: 'skipped', isTaken: true });
  await worker.query(`update safety_sync.runs set started_at = now() + interval '1 year'`);
  expectSucceeded(await reconcile());
});

describe('a service clock that was an hour ahead', () => {
  const change = (name: string, updated_on: number): void =>
    void store().update([...store().keys()][0] ?? '', { m_assignee_id: name, updated_on });

  /** The newest change is stored with a time that lies ahead; the service's next responses have their right time. */
  async function startAhead(): Promise<void> {
    const off = { ms: HOUR_MS };
    const started: { worker?: TimedWorker } = {};
    const now = () => started.worker?.time.now ?? NOON;
    worker = await createTimedWorker({
      settings: { followupsOverlapMs: 0 },
      sandbox: { size: SIZE, clock: () => now() + off.ms },
    });
    started.worker = worker;
    change('while-ahead', now() + HOUR_MS);
    await sync();
    off.ms = 0;
    worker.time.now += 20 * MINUTE_MS;
  }

  test('if the service clock is set back, a sync lowers the watermark, and a backfill reads everything again', async () => {
    await startAhead();
    await sync();
    expect(await watermark()).toBeLessThanOrEqual(worker.time.now);
    change('silently', newestUpdate());
    const result = expectSucceeded(await worker.run('followups', { kind: 'backfill' }));
    expect(result.counts).toMatchObject({ read: SIZE.followups, updated: 1 });
    await isEqual();
  });
});

describe('reconcile', () => {
  test('reconcile is refused if more than half of the follow-ups are missing, unless mass deletion is allowed', async () => {
    await start();
    await sync();
    const before = await rowVersions(worker);
    for (const key of [...store().keys()].slice(0, 70)) store().delete(key);
    expect(await worker.run('followups', { kind: 'reconcile' })).toMatchObject({
      outcome: 'failed',
      error: { code: 'delete_guard' },
    });
    expect(await rowVersions(worker)).toEqual(before);
    const result = expectSucceeded(
      await worker.run('followups', { kind: 'reconcile', allowMassDelete: true }),
    );
    expect(result.counts.deleted).toBe(70);
    await isEqual();
  });
});
