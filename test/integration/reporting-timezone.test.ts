import { expect, test } from 'vitest';
import { startAppFixture } from '../support/app-fixture.ts';
import { runInProcess } from '../support/in-process.ts';
import { untilTestEnds } from '../support/lifetime.ts';
import { createTestWorker, serviceEnv } from '../support/worker.ts';

test('a command without REPORTING_TIMEZONE moves no days; if one with another zone moves them, status page and check report it', async () => {
  const worker = untilTestEnds(await createTestWorker());
  const env = serviceEnv(worker);
  const oslo = { REPORTING_TIMEZONE: 'Europe/Oslo' };
  const fixture = await startAppFixture(worker, {
    env: { ...oslo, SYNC_CRON: 'off', RECONCILE_CRON: 'off' },
    everyMs: 50,
  });
  const stored = () => worker.query('select timezone from safety.reporting_settings');
  const page = async () => await (await fetch(fixture.url)).text();
  await expect.poll(stored).toEqual([{ timezone: 'Europe/Oslo' }]);

  await runInProcess(['sync', 'users'], env);
  expect(await stored()).toEqual([{ timezone: 'Europe/Oslo' }]);
  expect(await page()).not.toContain('Days begin in');

  await runInProcess(['migrate'], { ...env, REPORTING_TIMEZONE: 'Asia/Tokyo' });
  expect(await stored()).toEqual([{ timezone: 'Asia/Tokyo' }]);
  await expect
    .poll(page)
    .toContain('Days begin in Asia/Tokyo and not in Europe/Oslo, this worker’s REPORTING_TIMEZONE');
  const found =
    'days of default begin in Asia/Tokyo in the warehouse, and REPORTING_TIMEZONE is Europe/Oslo here';
  expect((await runInProcess(['check'], { ...env, ...oslo })).stdout).toContain(found);
  expect((await runInProcess(['check'], env)).stdout).not.toContain('Asia/Tokyo');
});
