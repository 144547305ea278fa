/** Backfills: ranges, slices that are too large or incomplete, and the watermark that they leave (contract, 5.1, 5.2, 5.7). */
import { expect, test } from 'vitest';
import type { RequestLogEntry } from '../../../src/sandbox/index.ts';
import { WHOLE_TIME } from '../../../src/engine/streams/state.ts';
import { MINUTE_MS } from '../../../src/shared/time.ts';
import {
  failedBy,
  followups,
  isEqual,
  type MemoryWorkerOptions,
  startWorker,
  stored,
  sync,
  touch,
  watermark,
  worker,
} from '../../support/memory-world.ts';

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
const backfill = (fromMs = WHOLE_TIME.fromMs, toMs = WHOLE_TIME.toMs) =>
  sync('followups', { kind: 'backfill', range: { fromMs, toMs } });

const isPage = ({ params }: RequestLogEntry) => params['limit'] !== 1;

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

test.each(['newest', 'oldest'])(
  'if the service cannot return the %s follow-up, a first sync stores all others in slices, and names that one',
  async (which) => {
    await start({
      sandbox: {
        size: { followups: 450, employees: 2, equipment: 2, resources: 2, users: 12 },
        readings: { largestPage: PAGE },
      },
    });
    const id = byCreation().at(which === 'newest' ? -1 : 0)?.id ?? '';
    worker.sandbox.readings.unrenderable = [id];
    expect(await worker.run('followups')).toMatchObject(failedBy('range_unreadable'));
    expect(stored().size).toBe(followups().size - 1);
    worker.sandbox.readings.unrenderable = [];
    await sync();
    await isEqual();
  },
);

test.each([500, 3000, 20_000])(
  'a first load of %i follow-ups takes a request for each page, a twentieth more, and two',
  async (count) => {
    await startWorker({
      sandbox: { size: { followups: count, employees: 0, equipment: 0, resources: 0, users: 12 } },
    });
    const { requests } = await sync();
    expect(stored().size).toBe(count);
    expect(requests).toBeLessThanOrEqual(1.05 * (count / 500) + 2);
  },
);

test('if the service can no longer return the newest follow-up, which has not changed, changes of the others are stored', async () => {
  await start();
  await sync();
  worker.time.now += 60 * MINUTE_MS;
  worker.sandbox.readings.unrenderable = [byCreation().at(-1)?.id ?? ''];
  touch(byCreation()[7]?.id ?? '');
  expect((await sync()).counts).toMatchObject({ updated: 1 });
  expect(watermark()).toBe(worker.serviceNow());
});
