/** Records that one response withheld are requested (contract, 5.7). */
import { expect, test } from 'vitest';
import { MINUTE_MS } from '../../src/shared/time.ts';
import { untilTestEnds } from '../support/lifetime.ts';
import { createTimedWorker, expectSucceeded } from '../support/timed-worker.ts';
import { SMALL_SANDBOX } from '../support/worker.ts';

test('a record that a full response lacked is found, because the totals do not add up', async () => {
  const worker = untilTestEnds(
    await createTimedWorker({
      settings: { followupsOverlapMs: 10 * 365 * 24 * 60 * MINUTE_MS },
      sandbox: { size: SMALL_SANDBOX, readings: { largestPage: 20 } },
    }),
  );
  expectSucceeded(await worker.run('followups'));
  const { followups } = worker.sandbox.store;
  const newestFirst = () => [...followups.values()].toSorted((a, b) => b.created_on - a.created_on);
  const fifth = newestFirst()[4];
  followups.put({ ...fifth, id: 'kept-back', updated_on: worker.serviceNow() });
  worker.sandbox.hooks.rewriteResponse = (_, response) => {
    worker.sandbox.hooks.rewriteResponse = undefined;
    const shown = (response['followups'] as { id: string }[]).filter(({ id }) => id !== 'kept-back');
    const known = new Set(['kept-back', ...shown.map(({ id }) => id)]);
    return { ...response, followups: [...shown, newestFirst().find(({ id }) => !known.has(id))] };
  };
  expectSucceeded(await worker.run('followups'));
  expect(await worker.query(`select id from safety.followups where id = 'kept-back'`)).toHaveLength(1);
});
