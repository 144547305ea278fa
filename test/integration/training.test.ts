/** The cached calculation: its requests and its stored rows, which are of one calculation each (contract, 5.3). */
import { describe, expect, test } from 'vitest';
import { MINUTE_MS } from '../../src/shared/time.ts';
import { forEachTest } from '../support/lifetime.ts';
import { createTimedWorker, expectSucceeded } from '../support/timed-worker.ts';
import { runsOf, stateOf } from '../support/warehouse-marks.ts';

const STREAM = 'training-employee-status';
const SIZE = { followups: 0, employees: 30, equipment: 4, resources: 2, users: 8 };

const worker = forEachTest(() => createTimedWorker({ sandbox: { size: SIZE } }));
const sync = async (force = false) => expectSucceeded(await worker.run(STREAM, { force }));
const employees = () => worker.sandbox.store.employees;

describe('requests for the calculation', () => {
  test('a scheduled run before the cache expires leaves no row in runs, a manual one leaves a skipped row', async () => {
    await sync();
    const scheduled = await worker.run(STREAM, { trigger: 'schedule' });
    expect(scheduled).toMatchObject({ outcome: 'skipped', requests: 0, record: { runId: null } });
    expect((await runsOf(worker, STREAM)).map(({ status }) => status)).toEqual(['succeeded']);
    expect(await worker.run(STREAM)).toMatchObject({ outcome: 'skipped' });
    expect((await runsOf(worker, STREAM)).map(({ status }) => status)).toEqual(['skipped', 'succeeded']);
  });

  test('the calculation is requested if 15 minutes have passed on the clock of the database', async () => {
    await sync();
    await worker.query(
      `update safety_sync.stream_state
       set checked_at = (checked_at at time zone 'UTC' - interval '15 minutes') at time zone 'UTC'`,
    );
    worker.sandbox.requests.length = 0;
    await sync();
    expect(worker.sandbox.requests).toHaveLength(1);
  });
});

describe('stored rows of the calculation', () => {
  test('calculated_at is the last_updated of the calculation that changed the row', async () => {
    await sync();
    const first = worker.sandbox.store.trainingCalculation().lastUpdated;
    const key = [...employees().keys()][4] ?? '';
    employees().update(key, { status: 'changed' });
    worker.time.now += 15 * MINUTE_MS;
    await sync(true);
    const rows = await worker.query<{ at: number; user_id: string }>(
      `select user_id, (extract(epoch from calculated_at) * 1000)::float8 as at from safety.training_employee_status`,
    );
    expect(rows.filter((row) => row.at !== first)).toEqual([{ user_id: key, at: worker.serviceNow() }]);
    expect((await stateOf(worker, STREAM)).calculatedAt).toBe(worker.serviceNow());
  });
});
