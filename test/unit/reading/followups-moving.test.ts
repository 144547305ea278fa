/** The source changes between two responses: nothing that was there all the while is missed (contract, 5.2 and 5.7). */
import { expect, test } from 'vitest';
import type { Followup } from '../../../src/sandbox/index.ts';
import { MINUTE_MS } from '../../../src/shared/time.ts';
import { casesOf } from '../../support/proof.ts';
import { createRandom, type SeededRandom } from '../../support/seeded-random.ts';
import {
  followups,
  isEqual,
  isEqualExceptDeleted,
  raise,
  reconcile,
  startWorker,
  stored,
  sync,
  touch,
  worker,
} from '../../support/memory-world.ts';

const PAGE = 20;
const EVERYTHING_MS = 10 * 365 * 24 * 60 * MINUTE_MS;

const start = () =>
  startWorker({
    settings: { followupsOverlapMs: EVERYTHING_MS },
    sandbox: {
      size: { followups: 130, employees: 4, equipment: 4, resources: 2, users: 8 },
      readings: { largestPage: PAGE },
    },
  });
const newestFirst = (): Followup[] =>
  [...followups().values()].toSorted((a, b) => b.created_on - a.created_on);

/** A source that changes forever fails the run; this one comes to rest. */
const DISTURBED_RESPONSES = 12;

/** Random changes between two responses. */
function disturb(random: SeededRandom, touched: Set<string>): void {
  for (let change = random.below(4); change > 0; change -= 1) {
    const all = newestFirst();
    const one = random.pick(all);
    touched.add(one.id);
    const kind = random.below(10);
    if (kind < 4) touch(one.id);
    else if (kind < 7) raise(`new-${followups().size}-${random.below(1e9)}`);
    else if (kind < 8) raise(`tie-${followups().size}-${random.below(1e9)}`, one.created_on);
    else followups().delete(one.id);
  }
  worker.time.now += random.below(3);
}

test.each(Array.from({ length: casesOf({ few: 1, all: 8 }) }, (_, seed) => seed))(
  'a source that changes between responses (seed %i) is read without missing an unchanged record, and later equals the warehouse',
  async (seed) => {
    const random = createRandom(seed);
    await start();
    for (const kind of ['sync', 'sync', 'reconcile'] as const) {
      const before = new Set(followups().keys());
      const touched = new Set<string>();
      let responses = 0;
      worker.sandbox.hooks.beforeResponse = () => {
        responses += 1;
        if (responses <= DISTURBED_RESPONSES) disturb(random, touched);
      };
      await sync('followups', { kind });
      worker.sandbox.hooks.beforeResponse = undefined;
      const missed = [...before].filter((id) => followups().has(id) && !touched.has(id) && !stored().has(id));
      expect(missed).toEqual([]);
    }
    await sync();
    await isEqualExceptDeleted();
    await reconcile();
    await isEqual();
  },
);
