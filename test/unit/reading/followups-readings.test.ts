/** However many records the service sends in a response. */
import { describe, expect, test } from 'vitest';
import type { Readings } from '../../../src/sandbox/index.ts';
import { MINUTE_MS } from '../../../src/shared/time.ts';
import { SPECIMENS } from '../../support/specimens.ts';
import {
  followups,
  idAt,
  isEqual,
  reconcile,
  startWorker,
  stored,
  sync,
  worker,
} from '../../support/reading.ts';

const start = (readings: Partial<Readings> = {}, size = 130) =>
  startWorker({
    sandbox: { size: { followups: size, employees: 4, equipment: 4, resources: 2, users: 8 }, readings },
  });

/** Follow-ups of one millisecond. */
function putTies(count: number): void {
  const created_on = worker.serviceNow() - 60 * MINUTE_MS;
  for (let number = 0; number < count; number += 1) {
    followups().put({ ...SPECIMENS.followups.build(`tie-${number}`), created_on, messages: [] });
  }
}

test.each([null, 20])(
  'with at most %j records in a response, the warehouse equals the source',
  async (largestPage) => {
    await start({ largestPage });
    await sync();
    await isEqual();
    worker.time.now += MINUTE_MS;
    worker.sandbox.live.step(60);
    await sync();
    await isEqual();
    await reconcile();
    await isEqual();
  },
);

test.each(['empty', 'refused'] as const)(
  'more follow-ups of one millisecond than a response holds are all read (beyond the last page %s)',
  async (pastLastPage) => {
    await start({ pastLastPage }, 40);
    putTies(620);
    const { counts } = await sync();
    expect(counts.inserted).toBe(660);
    expect(stored().size).toBe(660);
  },
);

describe('reconcile', () => {
  test('a reconcile marks missing records deleted, stores changes that syncs missed, and undeletes returned records', async () => {
    await start();
    await sync();
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
});
