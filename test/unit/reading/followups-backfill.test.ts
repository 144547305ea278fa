/** Backfills: ranges, slices that are too large or incomplete, and the watermark that they leave (contract, 5.1, 5.2, 5.7). */
import { describe, expect, test } from 'vitest';
import type { RequestLogEntry } from '../../../src/sandbox/index.ts';
import { DAY_MS, MINUTE_MS } from '../../../src/shared/time.ts';
import type { MemoryWorkerOptions } from '../../support/memory-worker.ts';
import { inProof } from '../../support/proof.ts';
import {
  failedBy,
  followups,
  idAt,
  isEqual,
  raise,
  startWorker,
  stored,
  sync,
  touch,
  watermark,
  worker,
} from '../../support/reading.ts';

const PAGE = 10;

const start = (options: MemoryWorkerOptions = {}) =>
  startWorker({
    settings: { sliceConcurrency: 2 },
    sandbox: {
      size: { followups: 240, employees: 2, equipment: 2, resources: 2, users: 12 },
      readings: { largestPage: PAGE },
    },
    ...options,
  });
const byCreation = () => [...followups().values()].toSorted((a, b) => a.created_on - b.created_on);
/** The time before which this share of the follow-ups was created. */
const createdAt = (share: number): number =>
  byCreation()[Math.floor((followups().size - 1) * share)]?.created_on ?? 0;
const newestUpdate = () => Math.max(...[...followups().values()].map((one) => one.updated_on));
const slices = () => worker.warehouseOf('followups').slices.map(({ slice }) => slice);
const unfinished = () => slices().filter((one) => one.status !== 'done' || one.records !== one.expected);
const backfill = (fromMs = -Infinity, toMs = Infinity) =>
  sync('followups', { kind: 'backfill', range: { fromMs, toMs } });

const isPage = ({ params }: RequestLogEntry) => params['limit'] !== 1;
const pagesAsked = () => worker.sandbox.requests.filter(isPage).length;
/** Whether a question is about the creation time `at`. */
const covers = ({ params }: RequestLogEntry, at: number) =>
  Number(params['created_after'] ?? -Infinity) < at && at < Number(params['created_before'] ?? Infinity);

/** A backfill of everything that fails at its n-th page. */
async function backfillUntilPage(nth: number): Promise<void> {
  let pages = 0;
  const isLate = (entry: RequestLogEntry): boolean => isPage(entry) && (pages += 1) >= nth;
  worker.sandbox.faults.next(isLate, { kind: 'error', error: 'parameter_invalid' }, 1000);
  expect(await worker.run('followups', { kind: 'backfill' })).toMatchObject(failedBy('parameter_invalid'));
  worker.sandbox.faults.clear();
}

test('a backfill of a part neither sets nor moves the watermark, and the syncs after it read everything', async () => {
  await start();
  await backfill(createdAt(0.3), createdAt(0.6));
  expect(watermark()).toBeNull();
  expect(stored().size).toBeLessThan(followups().size / 2);
  await sync();
  await isEqual();
  const before = watermark();
  expect(before).not.toBeNull();
  worker.time.now += 5 * MINUTE_MS;
  worker.sandbox.live.step(30);
  await backfill(createdAt(0.1));
  expect(watermark()).toBe(before);
  await sync();
  await isEqual();
});

test('a full backfill leaves the watermark of its beginning, so that the next sync reads changes that were made meanwhile', async () => {
  await start();
  const known = newestUpdate();
  let pages = 0;
  worker.sandbox.hooks.beforeResponse = (entry) => {
    if (!isPage(entry) || (pages += 1) !== 12) return;
    worker.time.now += 30 * MINUTE_MS;
    for (const id of [...followups().keys()].slice(0, 200)) touch(id);
  };
  await backfill();
  expect(watermark()).toBeLessThanOrEqual(known);
  await sync();
  await isEqual();
});

inProof(() => {
  test('a backfill of another range than an unfinished one begins from the start, and the first sync reads everything', async () => {
    await start();
    await backfillUntilPage(8);
    await backfill(createdAt(0.5));
    expect(unfinished()).toEqual([]);
    expect(watermark()).toBeNull();
    await sync();
    await isEqual();
  });

  test('a backfill with --restart ignores earlier progress and reads everything', async () => {
    await start();
    await backfillUntilPage(12);
    worker.sandbox.requests.length = 0;
    await sync('followups', { kind: 'backfill', restart: true });
    expect(pagesAsked()).toBeGreaterThanOrEqual(followups().size / PAGE);
    await isEqual();
  });
});

describe('a slice', () => {
  test('a first sync reads all records, although one millisecond has more of them than a response and two slices hold', async () => {
    await start();
    const crowded = createdAt(0.8);
    for (let index = 0; index < 130; index += 1) raise(`crowd-${index}`, crowded);
    await sync();
    await isEqual();
    expect(slices().filter(({ status }) => status !== 'done')).toEqual([]);
  });

  test('a backfill splits a slice that has too many records', async () => {
    await start();
    // Nearly all of them were created within the last day of three years.
    const day = worker.serviceNow() - DAY_MS;
    for (const [index, id] of [...followups().keys()].entries()) {
      const created_on = index < 10 ? day - (index + 1) * 100 * DAY_MS : day + index * 1_000;
      followups().update(id, { created_on });
    }
    await backfill();
    expect(slices().length).toBeGreaterThan(8);
    expect(Math.max(...slices().map(({ records }) => records))).toBeLessThanOrEqual(3 * 5 * PAGE);
    expect(unfinished()).toEqual([]);
    expect(slices().reduce((sum, { records }) => sum + records, 0)).toBe(followups().size);
    await isEqual();
  });

  test('a slice whose request times out is halved until the service responds', async () => {
    await start({ requestTimeoutMs: 300, mostRetries: 0, settings: { sliceConcurrency: 1 } });
    const at = createdAt(0.6);
    const width = ({ params }: RequestLogEntry) =>
      Number(params['created_before']) - Number(params['created_after']);
    let widest = Infinity;
    worker.sandbox.faults.next(
      (entry) => {
        if (!isPage(entry) || !covers(entry, at) || Number.isNaN(width(entry))) return false;
        if (widest === Infinity) widest = width(entry) / 2;
        return width(entry) > widest;
      },
      { kind: 'hang' },
      100,
    );
    await sync();
    expect(worker.sandbox.faults.counts.hang).toBeGreaterThan(0);
    await isEqual();
    expect(slices().filter(({ status }) => status !== 'done')).toEqual([]);
  });

  test('a slice that never becomes complete fails the run with read_incomplete; the others are stored, and the next sync reads only that slice', async () => {
    await start();
    const at = createdAt(0.5);
    worker.sandbox.hooks.rewriteResponse = (entry, response) => {
      const paging = response['paging'] as { total: number } | undefined;
      const isBounded = 'created_before' in entry.params || 'created_after' in entry.params;
      if (paging === undefined || !isBounded || !covers(entry, at)) return response;
      return { ...response, paging: { ...paging, total: paging.total + 3 } };
    };
    expect(await worker.run('followups')).toMatchObject(failedBy('read_incomplete'));
    expect(slices().filter(({ status }) => status === 'failed').length).toBeGreaterThanOrEqual(1);
    expect(slices().filter(({ status }) => status === 'pending')).toEqual([]);
    expect(watermark()).toBeNull();
    expect(stored().size).toBeGreaterThan(followups().size - 80);
    worker.sandbox.hooks.rewriteResponse = undefined;
    worker.sandbox.requests.length = 0;
    await sync();
    expect(pagesAsked()).toBeLessThan(15);
    await isEqual();
  });
});

inProof(() => {
  test('a backfill of a part of a planned slice with a hole does not prevent a sync from storing other changes', async () => {
    await start({ mostRetries: 1 });
    const isFailing = failedBy('range_unreadable');
    worker.sandbox.readings.unrenderable = [byCreation()[Math.floor(followups().size * 0.1)]?.id ?? ''];
    expect(await worker.run('followups')).toMatchObject(isFailing);
    await backfillUntilPage(4);
    const range = { fromMs: createdAt(0.08), toMs: createdAt(0.15) };
    expect(await worker.run('followups', { kind: 'backfill', range })).toMatchObject(isFailing);
    worker.time.now += MINUTE_MS;
    touch(idAt(200));
    expect(await worker.run('followups')).toMatchObject({ ...isFailing, counts: { updated: 1 } });
    worker.sandbox.readings.unrenderable = [];
    await sync();
    await isEqual();
  });
});
