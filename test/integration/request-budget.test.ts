/** The request budget of an account is one row that all its processes obey. */
import { expect, test } from 'vitest';
import {
  createRequestBudget,
  type Rate,
  type RequestBudgetOptions,
} from '../../src/engine/api/request-budget.ts';
import { createBudgetStore } from '../../src/engine/control-tables/request-budget.ts';
import { systemClock } from '../../src/shared/time.ts';
import { createCliFixture } from '../support/cli-fixture.ts';
import { forEachTest } from '../support/lifetime.ts';
import { connectForTest } from '../support/test-database.ts';

const fixture = forEachTest(() => createCliFixture());
const { signal } = new AbortController();

/** The budget as one process of the account has it. */
function openProcess(rate: Rate | null, options: Partial<RequestBudgetOptions> = {}) {
  const store = createBudgetStore(connectForTest(fixture.databaseUrl).db, 'default');
  return createRequestBudget({ store, rate, clock: systemClock, random: () => 0.5, ...options });
}

const readRows = () =>
  fixture.query<{ is_blocked: boolean; seconds: number }>(
    `select blocked_until is not null as is_blocked,
       extract(epoch from blocked_until - blocked_at)::float8 as seconds from safety_sync.request_budget`,
  );

test('processes that start requests at the same time share one budget', async () => {
  const rate = { burst: 3, intervalMs: 50 };
  const processes = [openProcess(rate), openProcess(rate)];
  const starts = await Promise.all(
    processes.flatMap((budget) => Array.from({ length: 10 }, () => budget.take(signal))),
  );
  const times = starts.map(({ atMs }) => atMs).toSorted((one, other) => one - other);
  const tooEarly = times.filter((ms, at) => ms - (times[at - 3] ?? -Infinity) < rate.intervalMs);
  expect([times.length, tooEarly]).toEqual([20, []]);
});

test('without a number the row is only read, until a refusal blocks every process', async () => {
  const blocks: number[] = [];
  const [one, other] = [openProcess(null), openProcess(null, { onBlocked: (ms) => void blocks.push(ms) })];
  const early = await other.take(signal);
  const refused = await one.take(signal);
  expect(await readRows()).toEqual([]);
  await one.recordEnd(refused, 'refused', 1_000);
  expect(await readRows()).toEqual([{ is_blocked: true, seconds: 1 }]);
  // It started before the block.
  await other.recordEnd(early, 'refused', 3_600_000);
  // The process that takes it dies; another goes alone after the block's length.
  const probe = await other.take(signal);
  const next = await one.take(signal);
  expect([probe.isProbe, next.isProbe]).toEqual([true, true]);
  expect(probe.atMs - refused.atMs).toBeGreaterThanOrEqual(1_000);
  expect(next.atMs - probe.atMs).toBeGreaterThanOrEqual(1_000);
  await one.recordEnd(next, 'answered');
  expect((await other.take(signal)).isProbe).toBe(false);
  expect([await readRows(), blocks.length]).toEqual([[{ is_blocked: false, seconds: null }], 1]);
});

test('status and log say until when requests wait, and no request is sent before', async () => {
  fixture.sandbox.faults.next(() => true, { kind: 'rateLimit' });
  const worker = fixture.start(['start'], { SYNC_CRON: 'off', SYNC_CRON_RESOURCES: '0 0 1 1 *' });
  await worker.untilStderr(/waiting for the request limit until/);
  expect(fixture.sandbox.requests).toHaveLength(1);
  const { stdout } = await fixture.run(['status']);
  expect(stdout).toMatch(
    /Nothing is requested: waiting for the request limit until 20\d\d-\d\d-\d\d \d\d:\d\d:\d\dZ\./,
  );
  const [row] = await readRows();
  expect(row?.seconds).toBeGreaterThanOrEqual(60);
  expect(row?.seconds).toBeLessThanOrEqual(66);
});
