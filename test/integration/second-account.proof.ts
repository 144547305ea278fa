/** An account that is new to the server's statistics: the planner expects one row of it. */
import { test } from 'vitest';
import { createTestWorker, expectSucceeded } from '../support/world.ts';

const size = { followups: 20_000, employees: 0, equipment: 0, resources: 0, users: 50 };
/** Ten times as long as it takes; with a loop over all rows it would be far more. */
const TIMEOUT_MS = 120_000;

test(
  'a second account is loaded, and its past days counted, without a loop over all of its rows',
  { timeout: TIMEOUT_MS },
  async () => {
    const first = await createTestWorker({ sandbox: { size: { ...size, followups: 200 } } });
    expectSucceeded(await first.run('followups'));
    await first.query('analyze');
    const database = { url: first.databaseUrl, drop: () => Promise.resolve() };
    const settings = { accountId: 'second' };
    const second = await createTestWorker({ sandbox: { seed: 2, size }, database, settings });
    expectSucceeded(await second.run('followups'));
    await second.close();
    await first.close();
  },
);
