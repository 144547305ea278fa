/**
 * PostgreSQL refuses each write of a run in turn: nothing is half stored, and the next run stores everything (contract, 5.1,
 * 5.2, 5.8).
 */
import { afterEach, expect, test } from 'vitest';
import { MINUTE_MS } from '../../src/shared/time.ts';
import type { StreamName } from '../../src/engine/streams/stream.ts';
import { createSaboteur, terminateSession } from '../support/saboteur.ts';
import { expectWarehouseEqualsSource, TABLES_OF } from '../support/source-oracle.ts';
import { createTimedWorker, expectSucceeded, stateOf, type TimedWorker } from '../support/world.ts';

const SIZE = { followups: 40, employees: 12, equipment: 24, resources: 10, users: 12 };
const MOST_WRITES = 60;

let worker: TimedWorker;
afterEach(() => worker.close());

const isEqual = (stream: StreamName) =>
  expectWarehouseEqualsSource(worker, { tables: TABLES_OF[stream] ?? [], exceptDeletedFollowups: true });
const sync = async (stream: StreamName) => expectSucceeded(await worker.run(stream));
/** The contents of the rows: a write that was rolled back leaves traces in their headers only. */
const contents = async (stream: StreamName): Promise<unknown[]> =>
  await Promise.all(
    (TABLES_OF[stream] ?? []).map((table) =>
      worker.query(`select count(*)::int as rows, md5(string_agg(t::text, ',' order by t::text)) as all
        from safety.${table} t`),
    ),
  );
/** Follow-ups without all of their messages. */
const halfStored = async () =>
  await worker.query(`select f.id from safety.followups f where f._message_count <>
    (select count(*) from safety.followup_messages m where m.account_id = f.account_id and m.followup_id = f.id)`);
const leftRunning = async () =>
  await worker.query(`select run_id from safety_sync.runs where status = 'running'`);

test.each(['followups', 'equipments', 'training-employee-status'] as const)(
  'if PostgreSQL refuses any write of a %s run or ends its session, nothing is half stored, and the next run stores everything',
  async (stream) => {
    worker = await createTimedWorker({ sandbox: { size: SIZE } });
    await sync(stream);
    const saboteur = await createSaboteur(worker);
    worker.time.now += 16 * MINUTE_MS;
    worker.sandbox.live.step(150);
    for (const table of [worker.sandbox.store.equipment, worker.sandbox.store.employees]) {
      table.delete([...table.keys()][2] ?? '');
    }
    const before = await contents(stream);
    const state = await stateOf(worker, stream);
    let write = 1;
    for (; write <= MOST_WRITES; write += 1) {
      await saboteur.arm(write, write % 2 === 0 ? 'refuse' : 'terminate');
      const result = await worker.run(stream, { force: true });
      if (result.outcome !== 'failed') break;
      expect(result.error.code).toMatch(/^(database_|lock_lost)/);
      // Changes of follow-ups are committed before the total is asked for.
      if (stream === 'followups') expect(await halfStored(), `write ${write}`).toEqual([]);
      else expect(await contents(stream), `write ${write}`).toEqual(before);
      expect(await stateOf(worker, stream)).toEqual(state);
      await saboteur.disarm();
    }
    expect(write).toBeGreaterThan(5);
    expect(write).toBeLessThan(MOST_WRITES);
    await isEqual(stream);
    expect(await leftRunning()).toEqual([]);
  },
);

test('if the database ends all sessions during a run, the run fails with lock_lost, and the next run succeeds', async () => {
  worker = await createTimedWorker({ sandbox: { size: SIZE } });
  await sync('followups');
  worker.time.now += MINUTE_MS;
  worker.sandbox.live.step(60);
  worker.sandbox.hooks.beforeResponse = async () => {
    worker.sandbox.hooks.beforeResponse = undefined;
    expect(await terminateSession(worker, 'followups')).toBe(true);
    await worker.query(`select pg_terminate_backend(pid) from pg_stat_activity
      where datname = current_database() and pid <> pg_backend_pid()`);
  };
  const result = await worker.run('followups');
  expect(result).toMatchObject({ outcome: 'failed', error: { code: 'lock_lost' } });
  await sync('followups');
  await isEqual('followups');
  expect(await leftRunning()).toEqual([]);
});
