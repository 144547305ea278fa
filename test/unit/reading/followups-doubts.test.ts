/**
 * Responses that prove less than they seem to: what no filter shows, rows that repeat, totals that are wrong (contract, 5.1,
 * 5.2, 5.7).
 */
import { describe, expect, test } from 'vitest';
import type { Readings } from '../../../src/sandbox/index.ts';
import { MINUTE_MS } from '../../../src/shared/time.ts';
import { casesOf, inProof } from '../../support/proof.ts';
import {
  failedBy,
  followups,
  idAt,
  isEqual,
  isEqualExceptDeleted,
  raise,
  reconcile,
  rewriteFollowups,
  startWorker,
  stored,
  sync,
  watermark,
  worker,
} from '../../support/reading.ts';

/** Without a creation time: one of the oldest, of the middle, of the newest. */
const UNDATED = [3, 70, 118];

/** 120 follow-ups, ten a page, in three slices of several pages. */
const start = (readings: Partial<Readings> = {}) =>
  startWorker({
    settings: { sliceConcurrency: 2 },
    sandbox: {
      size: { followups: 120, employees: 2, equipment: 2, resources: 2, users: 12 },
      readings: { largestPage: 10, undatedFollowups: 'unfiltered', ...readings },
    },
  });

function undate(places: readonly number[] = UNDATED): string[] {
  const ids = places.map(idAt);
  for (const id of ids) {
    const fields = Object.entries(followups().get(id) ?? {}).filter(([name]) => name !== 'created_on');
    followups().put(Object.fromEntries(fields), id);
  }
  return ids;
}

/** Before the response to the n-th question of the next run. */
function atRequest(nth: number, happen: () => void | Promise<void>): void {
  let requests = 0;
  worker.sandbox.hooks.beforeResponse = async () => {
    requests += 1;
    if (requests === nth) await happen();
  };
}

describe('a first sync and follow-ups that no filter on creation time returns', () => {
  test('a first sync reads follow-ups without a creation time', async () => {
    await start();
    undate();
    await sync();
    await isEqual();
    expect(watermark()).not.toBeNull();
  });

  test('a first sync reads a follow-up without a creation time, if inclusive bounds of whole seconds return the newest second twice', async () => {
    await start({ followupTimes: 'seconds', followupBounds: 'inclusive' });
    undate([70]);
    await sync();
    await isEqual();
  });

  test('a first sync reads a follow-up without a creation time, if another one is deleted between the totals at the end', async () => {
    await start();
    undate([70]);
    worker.sandbox.hooks.beforeResponse = ({ params }) => {
      const isWhole = !Object.keys(params).some((name) => name.startsWith('created_'));
      if (params['limit'] !== 1 || !isWhole) return;
      followups().delete(idAt(50));
      worker.sandbox.hooks.beforeResponse = undefined;
    };
    await sync();
    await isEqualExceptDeleted();
  });

  test.each(['present', 'absent'] as const)(
    'a first sync reads all follow-ups if the service compares whole seconds, paging %s',
    async (followupsPaging) => {
      await start({ followupTimes: 'seconds', followupsPaging });
      const begun = worker.serviceNow() - 60 * MINUTE_MS;
      for (const [at, id] of [...followups().keys()].entries()) {
        followups().update(id, { created_on: begun + Math.floor(at / 7) * 1000 + (at % 7) * 97 });
      }
      await sync();
      await isEqual();
      await reconcile();
      await isEqual();
    },
  );

  test('a first sync reads follow-ups without a creation time while read ones are deleted and others are raised', async () => {
    await start();
    const undated = undate();
    atRequest(14, () => {
      const dated = [...followups().keys()].filter((id) => !undated.includes(id));
      for (const id of dated.slice(-4)) followups().delete(id);
      for (const name of ['one', 'two']) raise(name);
    });
    await sync();
    worker.sandbox.hooks.beforeResponse = undefined;
    await sync();
    await isEqualExceptDeleted();
  });

  test.each(casesOf({ few: [8], all: [3, 8, 15] }))(
    'a first sync that is cut off at request %i reads follow-ups without a creation time when it continues',
    async (request) => {
      await start();
      undate();
      let requests = 0;
      worker.sandbox.hooks.rewriteResponse = (_entry, response) => {
        requests += 1;
        return requests < request ? response : { ok: false, error: 'internal_error' };
      };
      expect((await worker.run('followups')).outcome).toBe('failed');
      worker.sandbox.hooks.rewriteResponse = undefined;
      await sync();
      await isEqual();
    },
  );

  test('a first sync fails as read_incomplete and sets no watermark if page numbers do not return all follow-ups either', async () => {
    await start();
    const undated = undate();
    rewriteFollowups((list) => list.filter(({ id }) => !undated.includes(id)));
    expect(await worker.run('followups')).toMatchObject(failedBy('read_incomplete'));
    expect(watermark()).toBeNull();
    rewriteFollowups(undefined);
    await sync();
    await isEqual();
  });
});

test('without a total, a reconcile marks no follow-up deleted that has lost its creation time', async () => {
  await start({ followupsPaging: 'absent' });
  await sync();
  undate();
  await reconcile();
  await isEqual();
});

test('a backfill of everything reads follow-ups without a creation time, and a backfill of a range succeeds without them', async () => {
  await start();
  await sync();
  undate();
  const range = { fromMs: worker.serviceNow() - 365 * 24 * 60 * MINUTE_MS, toMs: Infinity };
  await sync('followups', { kind: 'backfill', range });
  await sync('followups', { kind: 'backfill', restart: true });
  await isEqual();
});

test('a first sync succeeds while follow-ups are raised and deleted between all responses', async () => {
  await start();
  let made = 0;
  worker.sandbox.hooks.beforeResponse = () => {
    made += 1;
    raise(`new-${made}`);
    followups().delete(idAt((made * 7) % 100));
  };
  await sync();
  worker.sandbox.hooks.beforeResponse = undefined;
  await sync();
  await isEqualExceptDeleted();
});

describe('a response that repeats records', () => {
  test('if a response repeats records, a first sync is complete, and a reconcile deletes no existing record', async () => {
    await start({ repeatedRows: true });
    await sync();
    await isEqual();
    expect((await reconcile()).counts.deleted).toBe(0);
  });

  test('a first sync fails if pages repeat records and the total counts the repeated rows', async () => {
    await start({ largestPage: 3, repeatedRows: true });
    expect(await worker.run('followups')).toMatchObject(failedBy('read_incomplete'));
    worker.sandbox.readings.repeatedRows = false;
    await sync();
    await isEqual();
  });

  test('if the only response repeats records in place of others, a reconcile deletes none of the others', async () => {
    await start({ largestPage: null, repeatedRows: true });
    worker.sandbox.readings.repeatedRows = false;
    await sync();
    worker.sandbox.readings.repeatedRows = true;
    worker.sandbox.readings.largestPage = 120;
    const { counts } = await worker.run('followups', { kind: 'reconcile' });
    expect(counts.deleted).toBe(0);
    await isEqual();
  });

  test('if a list in one response repeats a record and its total shows that others are missing, the run fails and deletes nothing', async () => {
    await start({ resourcesPaging: 'one-page' });
    await sync('resources');
    worker.sandbox.hooks.rewriteResponse = (entry, response) => {
      const list = response['resources'] as unknown[];
      return entry.method === 'resources.list'
        ? { ...response, resources: list.map(() => list[0]) }
        : response;
    };
    const result = await worker.run('resources', { force: true });
    expect(result).toMatchObject({ ...failedBy('read_incomplete'), counts: { deleted: 0 } });
  });
});

test('if the totals ignore the filters, each run reads new follow-ups, with no more requests than the first one', async () => {
  await start();
  worker.sandbox.hooks.rewriteResponse = (_entry, response) => ({
    ...response,
    paging: { ...(response['paging'] as object), total: followups().size },
  });
  const first = await worker.run('followups');
  worker.time.now += MINUTE_MS;
  raise('late');
  const second = await worker.run('followups');
  expect(stored().has('late')).toBe(true);
  expect([first, second]).toMatchObject([failedBy('read_incomplete'), failedBy('read_incomplete')]);
  expect(second.requests).toBeLessThanOrEqual(first.requests);
});

inProof(() => {
  test('if all totals are far too high, a run stores all follow-ups, fails, and sends at most about one request for each planned slice', async () => {
    await start();
    // Without a bound it sends 150,000 requests.
    const [total, most] = [100_000, 1_500];
    worker.sandbox.hooks.rewriteResponse = (_entry, response) => ({
      ...response,
      paging: { total, last_page: total / 10 },
    });
    const result = await worker.run('followups');
    expect(result).toMatchObject(failedBy('read_incomplete'));
    expect(stored().size).toBe(120);
    // At most 1,000 slices are planned.
    expect(result.requests).toBeLessThan(most);
  });
});

test('if the total counts only the rows of its page, a first sync reads the further pages that are announced', async () => {
  await start();
  worker.sandbox.hooks.rewriteResponse = (_entry, response) => ({
    ...response,
    paging: { ...(response['paging'] as object), total: (response['followups'] as unknown[]).length },
  });
  await sync();
  await isEqual();
});

test('a total that is capped at 20 prevents neither a complete first sync nor a complete reconcile', async () => {
  await start({ pagingTotal: 'capped', largestPage: null });
  await sync();
  await isEqual();
  await reconcile();
  await isEqual();
});

const BOUNDS = ['inclusive', 'exclusive'] as const;
test.each(casesOf<(typeof BOUNDS)[number][]>({ few: ['inclusive'], all: [...BOUNDS] }))(
  'a reconcile keeps a follow-up without a creation time if another one is raised or deleted meanwhile (%s bounds)',
  async (followupBounds) => {
    await start({ followupBounds });
    const [id] = undate([70]);
    await sync();
    for (const happen of [() => raise('raised'), () => followups().delete(idAt(110))]) {
      atRequest(6, happen);
      await reconcile();
      worker.sandbox.hooks.beforeResponse = undefined;
      expect([...stored().keys()]).toContain(id);
    }
  },
);
