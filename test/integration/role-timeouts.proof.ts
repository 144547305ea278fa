/** Timeouts that an administrator has set on the role of the loader have no effect on its runs. */
import { expect, test } from 'vitest';
import { untilTestEnds } from '../support/lifetime.ts';
import { createTimedWorker, expectSucceeded } from '../support/world.ts';

const TIMEOUTS = {
  statement_timeout: '500ms',
  lock_timeout: '200ms',
  idle_session_timeout: '300ms',
  idle_in_transaction_session_timeout: '300ms',
  transaction_timeout: '900ms',
};

test('a slow response and a long merge fail no run, although the role has short timeouts', async () => {
  const worker = untilTestEnds(
    await createTimedWorker({
      sandbox: { size: { followups: 0, employees: 4, equipment: 4, resources: 4, users: 2 } },
    }),
  );
  const name = new URL(worker.databaseUrl).pathname.slice(1);
  const known = await worker.query<{ name: string }>(
    `select name from pg_settings where name in (${Object.keys(TIMEOUTS)
      .map((one) => `'${one}'`)
      .join(', ')})`,
  );
  for (const [setting, value] of Object.entries(TIMEOUTS)) {
    if (!known.some((one) => one.name === setting)) continue;
    await worker.query(`alter role current_user in database "${name}" set ${setting} = '${value}'`);
  }
  // One statement alone is longer than a statement may be, the two of an update are longer than a transaction.
  await worker.query(`create function public.dawdle() returns trigger language plpgsql as
    $$ begin perform pg_sleep(0.6); return null; end $$`);
  await worker.query(`create trigger dawdle after insert or update on safety.resources
    for each statement execute function public.dawdle()`);
  worker.sandbox.faults.next(() => true, { kind: 'slow', durationMs: 700 });
  expectSucceeded(await worker.run('resources'));
  expect(await worker.query(`select count(*)::int as live from safety.resources`)).toEqual([{ live: 4 }]);
  worker.sandbox.store.resources.update([...worker.sandbox.store.resources.keys()][0] ?? '', { title: 'x' });
  expectSucceeded(await worker.run('resources'));
});
