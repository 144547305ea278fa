/** BI reads while a sync stores: it sees the state before or the state after, without waiting. */
import { beforeEach, expect, test } from 'vitest';
import type { Connection } from '../../src/engine/database/connection.ts';
import { forEachTest } from '../support/lifetime.ts';
import { connectForTest } from '../support/test-database.ts';
import { expectSucceeded } from '../support/timed-worker.ts';
import { createTestWorker } from '../support/worker.ts';

const WAITS = `select exists (select from pg_stat_activity where datname = current_database()
  and application_name = 'safety-sync equipments' and wait_event_type = 'Lock') as held`;

const worker = forEachTest(() =>
  createTestWorker({
    sandbox: { size: { followups: 300, employees: 60, equipment: 80, resources: 30, users: 20 } },
  }),
);
let reader: Connection;

beforeEach(async () => {
  reader = connectForTest(worker.databaseUrl);
  // A reader that had to wait for a writer would fail.
  await reader.query(`set lock_timeout = '50ms'`);
  await sync();
});

async function sync(): Promise<void> {
  for (const result of await worker.runAll({ kind: 'reconcile', force: true, allowMassDelete: true })) {
    expectSucceeded(result);
  }
}

/** Rows of every table and view of schema safety, in one look. */
async function look(): Promise<Record<string, number>> {
  const relations = await reader.query<{ name: string }>(
    `select relname as name from pg_class where relnamespace = 'safety'::regnamespace and relkind in ('r', 'v') order by 1`,
  );
  const counts = relations.map(({ name }) => `(select count(*)::int from safety.${name}) as ${name}`);
  const [row] = await reader.query<Record<string, number>>(`select ${counts.join(', ')}`);
  return row ?? {};
}

/** A change of every record that leaves the number of all rows as it is. */
function touchEverything(): void {
  const { store } = worker.sandbox;
  const at = Date.now();
  for (const key of store.followups.keys())
    store.followups.update(key, { response_id: at % 1000, updated_on: at });
  for (const key of store.resources.keys()) store.resources.update(key, { title: `at ${at}` });
  for (const key of store.equipment.keys()) store.equipment.update(key, { notes: `at ${at}` });
  for (const [key, { percent_complete }] of store.employees) {
    store.employees.update(key, { status: 'active', percent_complete: (percent_complete + 1) % 100 });
  }
  store.recalculateTraining();
}

test('a reader sees the previous state without waiting until a sync commits its rows', async () => {
  const before = await look();
  const blocker = connectForTest(worker.databaseUrl);
  touchEverything();
  const { equipment } = worker.sandbox.store;
  for (const key of [...equipment.keys()].slice(0, 20)) equipment.delete(key);
  // User ids are recorded last: a session with that lock keeps the finished transaction open.
  await blocker.query('begin');
  await blocker.query(
    `select pg_advisory_xact_lock(hashtextextended('safety-sync-user-lookups:default', 0))`,
  );
  const running = worker.run('equipments');
  const isHeld = async () => {
    const [row] = await worker.query<{ held: boolean }>(WAITS);
    return row?.held === true;
  };
  while (!(await isHeld())) await look();
  expect(await look()).toEqual(before);
  await blocker.query('rollback');
  expectSucceeded(await running);
  const after = await look();
  expect(after['equipment']).toBe(before['equipment']);
  expect(after['equipment_inspections']).toBeLessThan(before['equipment_inspections'] ?? 0);
  expect(after['equipment_states']).toBe(60);
});
