/** No change is ever passed by: what the watermark survives (contract, "What always holds", 2). */
import { describe, expect, test } from 'vitest';
import { HOUR_MS, MINUTE_MS } from '../../../src/shared/time.ts';
import { casesOf } from '../../support/proof.ts';
import {
  followups,
  isEqual,
  type MemoryWorkerOptions,
  startWorker,
  sync,
  watermark,
  worker,
} from '../../support/memory-world.ts';

const SIZE = { followups: 60, employees: 4, equipment: 4, resources: 2, users: 8 };
const YEAR_2100 = Date.UTC(2100, 0, 1);

const start = (options: MemoryWorkerOptions = {}) =>
  startWorker({ ...options, sandbox: { size: SIZE, ...options.sandbox } });
const newestUpdate = () => Math.max(...[...followups().values()].map((one) => one.updated_on));

test('a sync without changes reads from the watermark minus the overlap and one millisecond', async () => {
  await start({ settings: { followupsOverlapMs: 5 * MINUTE_MS } });
  await sync();
  worker.sandbox.requests.length = 0;
  const result = await sync();
  expect(worker.sandbox.requests).toMatchObject([
    { method: 'followups.list', params: { updated_after: newestUpdate() - 5 * MINUTE_MS - 1 } },
    { method: 'followups.list', params: { limit: 1 } },
  ]);
  expect(result).toMatchObject({ requests: 2, counts: { inserted: 0, updated: 0, deleted: 0 } });
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
