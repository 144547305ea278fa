/**
 * Backfills: an interrupted one continues, an incomplete slice fails the run, and no watermark runs ahead (contract, 5.1,
 * 5.2, 5.7).
 */
import { afterEach, describe, expect, test } from 'vitest';
import type { RequestLogEntry } from '../../src/sandbox/index.ts';
import { MINUTE_MS } from '../../src/shared/time.ts';
import { casesOf } from '../support/proof.ts';
import { terminateSession } from '../support/saboteur.ts';
import { expectWarehouseEqualsSource } from '../support/source-oracle.ts';
import {
  createTimedWorker,
  expectSucceeded,
  runsOf,
  stateOf,
  type TimedWorker,
  type TimedWorkerOptions,
} from '../support/world.ts';
import { NOON } from '../support/test-clock.ts';

const PAGE = 5;
/** Two slices. */
const SIZE = { followups: 200, employees: 2, equipment: 2, resources: 2, users: 12 };
const tables = ['followups', 'followup_messages', 'followup_attachments'] as const;

let worker: TimedWorker;
afterEach(() => worker.close());

async function start(options: TimedWorkerOptions = {}): Promise<void> {
  // A commit about every fourth response, as if responses were slow.
  let monotonicMs = 0;
  const clock = { now: () => started?.time.now ?? NOON, monotonicMs: () => (monotonicMs += 250) };
  let started: TimedWorker | undefined;
  worker = started = await createTimedWorker({
    clock,
    ...options,
    settings: { sliceConcurrency: 2, ...options.settings },
    sandbox: { size: SIZE, readings: { largestPage: PAGE }, ...options.sandbox },
  });
}

const followups = () => worker.sandbox.store.followups;
const isEqual = () => expectWarehouseEqualsSource(worker, { tables });
const watermark = async () => (await stateOf(worker, 'followups')).watermark;
const backfill = () => worker.run('followups', { kind: 'backfill' });
const newestUpdate = () => Math.max(...[...followups().values()].map((one) => one.updated_on));
const creationTimes = () => [...followups().values()].map((one) => one.created_on).toSorted((a, b) => a - b);
/** The time before which this share of the follow-ups was created. */
const createdAt = (share: number): number => creationTimes()[Math.floor((followups().size - 1) * share)] ?? 0;

async function sync(): Promise<void> {
  expectSucceeded(await worker.run('followups'));
}

const isPage = ({ method, params }: RequestLogEntry) => method === 'followups.list' && params['limit'] !== 1;
const pagesAsked = () => worker.sandbox.requests.filter(isPage).length;

/** Before the response to the n-th page of the next run. */
function atPage(nth: number, happen: () => void | Promise<void>): void {
  let pages = 0;
  worker.sandbox.hooks.beforeResponse = async (entry) => {
    if (!isPage(entry)) return;
    pages += 1;
    if (pages === nth) await happen();
  };
}

async function cutOffAtPage(
  nth: number,
  run: () => Promise<unknown>,
  when: () => Promise<void> = () => Promise.resolve(),
): Promise<void> {
  atPage(nth, async () => {
    await when();
    expect(await terminateSession(worker, 'followups')).toBe(true);
  });
  await run();
  worker.sandbox.hooks.beforeResponse = undefined;
}

async function ledger(): Promise<{ status: string; expected: number | null; records: number }[]> {
  return await worker.query(
    'select status, expected::int, records::int from safety_sync.backfill_slices order by created_from',
  );
}
const stored = async (): Promise<number> => {
  const [row] = await worker.query<{ rows: number }>('select count(*)::int as rows from safety.followups');
  return row?.rows ?? 0;
};

describe('a first sync that is cut off', () => {
  test('an interrupted first sync leaves no watermark, and the next sync reads only the rest and sets it', async () => {
    await start();
    const isStored = async () => {
      // The rows and the counters of the run are one transaction.
      const [run] = await worker.query<{ inserted: number; rows: number }>(
        `select inserted::int, (select count(*)::int from safety.followups) as rows from safety_sync.runs where status = 'running'`,
      );
      expect(run?.inserted).toBe(run?.rows);
    };
    await cutOffAtPage(16, () => worker.run('followups'), isStored);
    const before = await stored();
    expect(before).toBeGreaterThan(4 * PAGE);
    expect(before).toBeLessThan(followups().size);
    expect(await watermark()).toBeNull();
    worker.sandbox.requests.length = 0;
    await sync();
    // At most one page of each reader is read again; each slice ends with a page that is not full; and the changes since.
    expect(pagesAsked()).toBeLessThanOrEqual((followups().size - before) / (PAGE - 1) + 2 * 2 + 2 + 3);
    expect(await watermark()).toBe(newestUpdate());
    await isEqual();
  });

  test.each(casesOf({ few: [], all: [1, 2, 3, 5, 9, 14, 22, 27] }))(
    'if a first sync is cut off at page %i, the next sync is complete',
    async (page) => {
      await start();
      await cutOffAtPage(page, () => worker.run('followups'));
      await sync();
      await isEqual();
      expect((await runsOf(worker, 'followups')).filter(({ status }) => status === 'running')).toEqual([]);
    },
  );

  test.each([PAGE, 2 * SIZE.followups])(
    'if a first sync in pages of %i fails after its last slice, the next sync reads only later changes',
    async (largestPage) => {
      await start();
      worker.sandbox.readings.largestPage = largestPage;
      await worker.query(`create function refuse() returns trigger language plpgsql as
        'begin raise exception ''no watermark today''; end'`);
      await worker.query(`create trigger no_watermark before update on safety_sync.stream_state for each row
        when (new.watermark is not null) execute function refuse()`);
      expect((await worker.run('followups')).outcome).toBe('failed');
      await worker.query('drop trigger no_watermark on safety_sync.stream_state');
      expect(await stored()).toBe(followups().size);
      expect(await watermark()).toBeNull();
      worker.sandbox.requests.length = 0;
      worker.time.now += MINUTE_MS;
      worker.sandbox.live.step(20);
      await sync();
      expect(pagesAsked()).toBeLessThanOrEqual(6);
      expect(await watermark()).toBe(newestUpdate());
      await isEqual();
    },
  );
});

describe('a backfill', () => {
  test('an interrupted backfill continues with the rest, and every slice ends with the announced number of records', async () => {
    await start();
    await cutOffAtPage(9, () => backfill());
    await cutOffAtPage(7, () => backfill());
    const before = await stored();
    worker.sandbox.requests.length = 0;
    expectSucceeded(await backfill());
    expect(pagesAsked()).toBeLessThanOrEqual((followups().size - before) / (PAGE - 1) + 2 * 2 + 4);
    const slices = await ledger();
    expect(slices.filter((slice) => slice.status !== 'done' || slice.records !== slice.expected)).toEqual([]);
    expect(slices.reduce((sum, { records }) => sum + records, 0)).toBe(followups().size);
    await isEqual();
  });

  test.each(casesOf({ few: [], all: [3, 14] }))(
    'a backfill that is cut off at page %i leaves a failed slice of an earlier run open until its record is stored',
    async (page) => {
      await start({ mostRetries: 1 });
      const broken = [...followups().values()].find((one) => one.created_on === createdAt(0.1))?.id ?? '';
      const isStored = async () =>
        (await worker.query(`select 1 from safety.followups where id = '${broken}'`)).length === 1;
      const isRefused = { outcome: 'failed', error: { code: 'range_unreadable' } };
      worker.sandbox.readings.unrenderable = [broken];
      expect(await worker.run('followups')).toMatchObject(isRefused);
      await cutOffAtPage(page, () => backfill());
      // The sync reads the ranges that the backfill had planned and not read, and is cut off as well.
      await cutOffAtPage(page, () => worker.run('followups'));
      for (const id of followups().keys()) {
        followups().update(id, { updated_on: worker.serviceNow(), m_assignee_id: 'moved' });
      }
      expect(await worker.run('followups')).toMatchObject(isRefused);
      expect(await isStored()).toBe(false);
      worker.sandbox.readings.unrenderable = [];
      await sync();
      expect(await isStored()).toBe(true);
      await isEqual();
      expect(await worker.query(`select 1 from safety_sync.backfill_slices where status = 'failed'`)).toEqual(
        [],
      );
    },
  );
});
