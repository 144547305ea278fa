/** However the service means its paging, its order and its bounds, and when it lies about them. */
import { describe, expect, test } from 'vitest';
import type { Readings } from '../../../src/sandbox/index.ts';
import { DAY_MS, MINUTE_MS, SECOND_MS } from '../../../src/shared/time.ts';
import { casesOf } from '../../support/proof.ts';
import { SPECIMENS } from '../../support/specimens.ts';
import {
  failedBy,
  followups,
  idAt,
  isEqual,
  raise,
  reconcile,
  rewriteFollowups,
  startWorker,
  stored,
  sync,
  worker,
} from '../../support/reading.ts';

/** A record of every sandbox of more than two follow-ups. */
const KEPT_BACK = '7000016';

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

const combinations = (['newest-first', 'oldest-first', 'unordered'] as const).flatMap((followupOrder) =>
  (['exclusive', 'inclusive'] as const).flatMap((followupBounds) =>
    (['present', 'absent'] as const).flatMap((followupsPaging) =>
      [null, 20].map((largestPage) => ({ followupOrder, followupBounds, followupsPaging, largestPage })),
    ),
  ),
);

// Without the specified paging, only the specified order shows that a response is incomplete.
const all = combinations.filter(
  ({ followupOrder, followupsPaging }) => followupOrder === 'newest-first' || followupsPaging === 'present',
);
/** Each reading once. */
const few: typeof all = [
  { followupOrder: 'newest-first', followupBounds: 'exclusive', followupsPaging: 'absent', largestPage: 20 },
  {
    followupOrder: 'oldest-first',
    followupBounds: 'inclusive',
    followupsPaging: 'present',
    largestPage: null,
  },
  { followupOrder: 'unordered', followupBounds: 'exclusive', followupsPaging: 'present', largestPage: 20 },
];

describe('each reading of order, bounds, paging and page size', () => {
  test.each(casesOf({ few, all }))(
    'with $followupOrder, $followupBounds, paging $followupsPaging and at most $largestPage records, the warehouse equals the source',
    async (readings) => {
      await start(readings);
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
});

test.each(
  casesOf({ few: ['newest-first'] as const, all: ['newest-first', 'oldest-first', 'unordered'] as const }),
)(
  'with smaller pages than requested, a total, no last page, and order %s, the warehouse equals the source',
  async (followupOrder) => {
    await start({ pagingFields: 'total-only', largestPage: 20, followupOrder });
    await sync();
    await isEqual();
    await reconcile();
    await isEqual();
  },
);

const ENDS: [paging: 'present' | 'absent', pastLastPage: 'refused' | 'empty'][] = [
  ['present', 'refused'],
  ['absent', 'empty'],
  ['present', 'empty'],
  ['absent', 'refused'],
];
test.each(casesOf({ few: ENDS.slice(0, 2), all: ENDS }))(
  'more follow-ups of one millisecond than a response holds are all read (paging %s, beyond its end %s)',
  async (followupsPaging, pastLastPage) => {
    await start({ followupsPaging, pastLastPage }, 40);
    putTies(620);
    const { counts } = await sync();
    expect(counts.inserted).toBe(660);
    expect(stored().size).toBe(660);
  },
);

test('more follow-ups of one millisecond than a response holds are all read if their order differs in each response', async () => {
  await start({ followupTies: 'changing', largestPage: 20 }, 40);
  putTies(62);
  await sync();
  await isEqual();
  await reconcile();
  await isEqual();
});

test('follow-ups that the source contains and counts twice are stored once, with any number of pages', async () => {
  await start({ largestPage: 20 });
  for (const place of [0, 19, 64, 129]) {
    const twice = [...followups().values()][place];
    followups().put({ ...twice }, `${place} again`);
  }
  const { counts } = await sync();
  expect(counts.inserted).toBe(130);
  expect((await reconcile()).counts).toMatchObject({ inserted: 0, updated: 0, deleted: 0 });
  await isEqual();
});

test('a last page of 0 or 1 is accepted for an empty list', async () => {
  for (const lastPageWhenEmpty of [0, 1] as const) {
    await start({ lastPageWhenEmpty }, 0);
    await sync();
    await isEqual();
  }
});

test('a follow-up that is newer than a response full of one millisecond is read, also if the oldest comes first', async () => {
  await start({ followupOrder: 'oldest-first', largestPage: 7 }, 0);
  const raiseOn = (name: string, daysAgo: number): void => {
    const created_on = worker.serviceNow() - daysAgo * DAY_MS;
    followups().put({ ...SPECIMENS.followups.build(name), created_on });
  };
  for (let number = 0; number < 180; number += 1) raiseOn(`old-${number}`, 60 + number);
  for (let number = 0; number < 7; number += 1) raiseOn(`tie-${number}`, 30);
  raiseOn('newest', 15);
  await sync();
  await isEqual();
});

test('follow-ups of one second are read without page numbers, however their list is sorted', async () => {
  await start({ followupOrder: 'oldest-first', largestPage: 20 }, 0);
  const secondMs = Math.floor(worker.serviceNow() / SECOND_MS) * SECOND_MS - SECOND_MS;
  for (let number = 0; number < 60; number += 1)
    followups().put({ ...SPECIMENS.followups.build(`raised-${number}`), created_on: secondMs + 16 * number });
  await sync();
  await reconcile();
  await isEqual();
  expect(worker.sandbox.requests.filter(({ params }) => 'page' in params)).toEqual([]);
});

test('a list in one full response is read with one request', async () => {
  await start({}, 300);
  expect((await sync()).requests).toBe(1);
  await isEqual();
});

describe('a service that announces more records than it returns', () => {
  const lies: Record<string, (response: Record<string, unknown>) => Record<string, unknown>> = {
    'a total that is larger than the list': (response) => ({
      ...response,
      paging: { total: (response['paging'] as { total: number }).total + 1, last_page: 1 },
    }),
    'a repeated row in place of a record': (response) => ({
      ...response,
      followups: (response['followups'] as { id: string }[]).map((one, at, all) =>
        one.id === KEPT_BACK ? all[at === 0 ? 1 : at - 1] : one,
      ),
    }),
    'a record that is missing in every response': (response) => ({
      ...response,
      followups: (response['followups'] as { id: string }[]).filter((one) => one.id !== KEPT_BACK),
    }),
  };
  test.each(Object.entries(lies))(
    'because of %s, the run fails as read_incomplete, stores what it received, and keeps the watermark',
    async (_name, lie) => {
      await start();
      await sync();
      const state = worker.stateOf('followups');
      worker.time.now += MINUTE_MS;
      followups().update(KEPT_BACK, { updated_on: worker.serviceNow() });
      raise('delivered');
      worker.sandbox.hooks.rewriteResponse = (entry, response) =>
        entry.method === 'followups.list' ? lie(response) : response;
      expect(await worker.run('followups')).toMatchObject(failedBy('read_incomplete'));
      expect(worker.stateOf('followups')).toEqual(state);
      expect(stored().has('delivered')).toBe(true);
      worker.sandbox.hooks.rewriteResponse = undefined;
      await sync();
      await isEqual();
    },
  );

  test.each([20, null])(
    'a first sync (pages of %s) with a missing record fails and stores the others, and the next sync completes it',
    async (largestPage) => {
      await start({ largestPage });
      rewriteFollowups((list) => list.filter(({ id }) => id !== KEPT_BACK));
      expect(await worker.run('followups')).toMatchObject(failedBy('read_incomplete'));
      expect(worker.stateOf('followups').watermark).toBeNull();
      expect(stored().size).toBe(followups().size - 1);
      worker.sandbox.hooks.rewriteResponse = undefined;
      await sync();
      await isEqual();
    },
  );

  test('a record that a full response lacked is found, because the totals do not add up', async () => {
    await start({ largestPage: 20 });
    const newestFirst = () => [...followups().values()].toSorted((a, b) => b.created_on - a.created_on);
    followups().put({ ...newestFirst()[4], id: 'kept-back' });
    worker.sandbox.hooks.rewriteResponse = (_entry, response) => {
      worker.sandbox.hooks.rewriteResponse = undefined;
      const list = (response['followups'] as { id: string }[]).filter(({ id }) => id !== 'kept-back');
      const known = new Set(['kept-back', ...list.map(({ id }) => id)]);
      return { ...response, followups: [...list, newestFirst().find(({ id }) => !known.has(id))] };
    };
    await reconcile();
    expect(stored().has('kept-back')).toBe(true);
  });

  test('an empty list with a total of 0 is requested once more before a reconcile deletes its few follow-ups', async () => {
    await start({}, 12);
    await sync();
    worker.sandbox.hooks.rewriteResponse = ({ params }, response) => {
      if (params['updated_after'] !== undefined) return response;
      worker.sandbox.hooks.rewriteResponse = undefined;
      return { ...response, followups: [], paging: { total: 0, last_page: 1 } };
    };
    await reconcile();
    await isEqual();
    for (const id of [...followups().keys()]) followups().delete(id);
    await reconcile();
    await isEqual();
  });

  test('a reconcile of a list with fewer records than announced deletes nothing', async () => {
    await start();
    await sync();
    const before = stored();
    rewriteFollowups((list) => list.slice(0, 100));
    const reconciled = await worker.run('followups', { kind: 'reconcile' });
    expect(reconciled).toMatchObject(failedBy('read_incomplete'));
    expect(stored()).toEqual(before);
  });
});

describe('reconcile', () => {
  test('a reconcile marks missing records deleted, stores changes that syncs missed, and undeletes returned records', async () => {
    await start();
    await sync();
    const [first, second, third] = [idAt(0), idAt(1), idAt(2)];
    const whole = followups().get(first);
    followups().delete(first);
    followups().update(second, { m_assignee_id: 'changed without a new time' });
    expect((await sync()).counts).toMatchObject({ updated: 0, deleted: 0 });
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
