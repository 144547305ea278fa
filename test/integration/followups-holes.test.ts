/** One follow-up that the service cannot render costs itself, and an outage is no such follow-up (contract, 5.1, 5.2). */
import { afterEach, describe, expect, test } from 'vitest';
import type { Followup } from '../../src/sandbox/index.ts';
import { MINUTE_MS } from '../../src/shared/time.ts';
import { expectWarehouseEqualsSource } from '../support/source-oracle.ts';
import { SPECIMENS } from '../support/specimens.ts';
import { createTimedWorker, expectSucceeded, type TimedWorker } from '../support/timed-worker.ts';
import { stateOf } from '../support/warehouse-marks.ts';

const tables = ['followups', 'followup_messages', 'followup_attachments'] as const;

let worker: TimedWorker;
afterEach(() => worker.close());

async function start(): Promise<void> {
  worker = await createTimedWorker({
    retryAttempts: 1,
    settings: { readers: 2 },
    sandbox: {
      size: { followups: 120, employees: 2, equipment: 2, resources: 2, users: 12 },
      readings: { largestPage: 10 },
    },
  });
}
const followups = () => worker.sandbox.store.followups;
const byCreation = (): Followup[] =>
  [...followups().values()].toSorted((a, b) => a.created_on - b.created_on);
const isEqual = () => expectWarehouseEqualsSource(worker, { tables });
const isFailing = { outcome: 'failed', error: { code: 'range_unreadable' } };
const failFor = (...ids: string[]): void => void (worker.sandbox.readings.unrenderable = ids);
const watermark = async () => (await stateOf(worker, 'followups')).watermark;
const storedIds = async (): Promise<string[]> =>
  (await worker.query<{ id: string }>('select id from safety.followups')).map(({ id }) => id);
const idAt = (place: number): string => [...followups().keys()][place] ?? '';
const othersThan = (id: string): string[] => [...followups().keys()].filter((one) => one !== id);
const holes = () =>
  worker.query<{ from: number; to: number; failures: number }>(
    `select extract(epoch from created_from)::float8 * 1000 as from, extract(epoch from created_to)::float8 * 1000 as to, failures
     from safety_sync.backfill_slices where status = 'failed'`,
  );

function raise(id: string): void {
  const now = worker.serviceNow();
  followups().put({ ...SPECIMENS.followups.build(id), created_on: now, updated_on: now });
}

describe('a follow-up for which the service fails', () => {
  test.each([
    ['the newest', 120],
    ['one of the middle', 61],
    ['the oldest', 0],
  ])('costs a first sync itself alone: %s', async (_name, at) => {
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
    expect((await storedIds()).toSorted()).toEqual(othersThan(broken.id).toSorted());
    expect(await holes()).toEqual([{ from: broken.created_on, to: broken.created_on + 1, failures: 1 }]);
    expect(await watermark()).not.toBeNull();
    expect(result.requests).toBeLessThan(300);

    worker.time.now += MINUTE_MS;
    raise('later');
    expect(await worker.run('followups')).toMatchObject(isFailing);
    expect(await storedIds()).toContain('later');
    expect(await holes()).toMatchObject([{ failures: 2 }]);

    failFor();
    expectSucceeded(await worker.run('followups'));
    await isEqual();
    expect(await holes()).toEqual([]);
  });

  test('costs a sync of changes itself alone, and comes when the service has mended it', async () => {
    await start();
    expectSucceeded(await worker.run('followups'));
    worker.time.now += MINUTE_MS;
    const id = idAt(50);
    followups().update(id, { updated_on: worker.serviceNow(), m_assignee_id: 'moved' });
    failFor(id);
    for (let at = 0; at < 5; at += 1) raise(`new-${at}`);
    const before = await watermark();
    const result = await worker.run('followups');
    expect(result).toMatchObject({ ...isFailing, counts: { inserted: 5 } });
    expect(result.requests).toBeLessThan(300);
    // By now it is known: it is tried once, with the retry of a question that has failed before.
    worker.time.now += 60 * MINUTE_MS;
    raise('later');
    const again = await worker.run('followups');
    expect(again).toMatchObject({ ...isFailing, counts: { inserted: 1 } });
    expect(again.requests).toBeLessThan(12);
    expect(await watermark()).toBeGreaterThan(before ?? Infinity);
    failFor();
    expectSucceeded(await worker.run('followups'));
    await isEqual();
  });

  test('is left alone by scheduled runs until its time has come, each time twice as long', async () => {
    await start();
    const id = idAt(50);
    failFor(id);
    await worker.run('followups');
    const asked = async (): Promise<number> => {
      worker.sandbox.requests.length = 0;
      expect(await worker.run('followups', { trigger: 'schedule' })).toMatchObject(isFailing);
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
    expect(await holes()).toMatchObject([{ failures: 3 }]);
  });

  test('lets a reconcile store the others, and delete nothing', async () => {
    await start();
    expectSucceeded(await worker.run('followups'));
    failFor(idAt(50));
    followups().delete(idAt(90));
    followups().update(idAt(91), { m_assignee_id: 'moved' });
    const result = await worker.run('followups', { kind: 'reconcile' });
    expect(result).toMatchObject({ ...isFailing, counts: { updated: 1, deleted: 0 } });
    failFor();
    expectSucceeded(await worker.run('followups', { kind: 'reconcile' }));
    await isEqual();
  });

  test('stays known when a backfill of another range is made', async () => {
    await start();
    const [, , broken] = byCreation();
    failFor(broken?.id ?? '');
    await worker.run('followups');
    const range = { fromMs: byCreation()[60]?.created_on ?? 0, toMs: null };
    expectSucceeded(await worker.run('followups', { kind: 'backfill', range }));
    expect(await holes()).toMatchObject([{ from: broken?.created_on }]);
    failFor();
    expectSucceeded(await worker.run('followups'));
    await isEqual();
  });
});

test('an outage in which every response fails is asked about a few times, and leaves nothing out', async () => {
  await start();
  for (const isFirst of [true, false]) {
    failFor(...followups().keys());
    if (!isFirst) followups().update(idAt(50), { updated_on: worker.serviceNow() });
    const result = await worker.run('followups');
    expect(result).toMatchObject({ outcome: 'failed', error: { code: 'server_error' } });
    expect(result.requests).toBeLessThan(12);
    expect(await holes()).toEqual([]);
    failFor();
    expectSucceeded(await worker.run('followups'));
  }
  await isEqual();
});
