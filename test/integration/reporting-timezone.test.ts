import { expect, test } from 'vitest';
import { runInProcess } from '../support/in-process.ts';
import { untilTestEnds } from '../support/lifetime.ts';
import { createTestWorker, serviceEnv } from '../support/world.ts';

test('a command without REPORTING_TIMEZONE moves no days, one with another zone moves them', async () => {
  const worker = untilTestEnds(await createTestWorker());
  const env = serviceEnv(worker);
  const oslo = { REPORTING_TIMEZONE: 'Europe/Oslo' };
  const stored = () => worker.query('select timezone from safety.reporting_settings');
  await runInProcess(['migrate'], { ...env, ...oslo });
  await runInProcess(['sync', 'users'], env);
  expect(await stored()).toEqual([{ timezone: 'Europe/Oslo' }]);
  await runInProcess(['migrate'], { ...env, REPORTING_TIMEZONE: 'Asia/Tokyo' });
  expect(await stored()).toEqual([{ timezone: 'Asia/Tokyo' }]);
});
