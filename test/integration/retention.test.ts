/** Retention: rows beyond their time are removed, a step at a time; all other rows stay as they are. */
import { afterEach, expect, test } from 'vitest';
import type { Removed, Retention } from '../../src/engine/history/retention.ts';
import type { StreamName } from '../../src/engine/streams/stream.ts';
import { expectWarehouseEqualsSource, TABLES_OF } from '../support/source-oracle.ts';
import { SPECIMENS } from '../support/specimens.ts';
import { createTimedWorker, expectSucceeded, type TimedWorker } from '../support/world.ts';

const OLD = `'2001-02-03T04:05:06Z'::timestamptz`;
const STREAMS = ['resources', 'followups', 'training-employee-status', 'equipments', 'users'] as const;
/** Tables with rows that the source deletes, and those with their children and states. */
const TABLES = {
  resources: ['resource_versions.resource_id'],
  followups: ['followup_states.id', 'followup_messages.followup_id', 'followup_attachments.followup_id'],
  training_employee_status: [
    'training_employee_status_states.user_id',
    'training_completions.user_id',
    'training_completion_states.user_id',
  ],
  equipment: [
    'equipment_states.id',
    'equipment_schedules.equipment_id',
    'equipment_schedule_states.equipment_id',
    'equipment_metavalues.equipment_id',
  ],
  users: [],
} as const;

let worker: TimedWorker;
let removed: Removed[] = [];
afterEach(() => worker.close());

async function start(retention: Retention): Promise<void> {
  removed = [];
  worker = await createTimedWorker({
    retention,
    sandbox: { size: { followups: 24, employees: 12, equipment: 16, resources: 8, users: 6 } },
    events: {
      onRemoved: (_stream, one, failure) =>
        failure === undefined ? removed.push(one) : expect.fail(failure.message),
    },
  });
}

async function syncAll(streams: readonly StreamName[] = STREAMS): Promise<void> {
  for (const stream of streams) {
    expectSucceeded(await worker.run(stream, { kind: 'reconcile', force: true, allowMassDelete: true }));
  }
}

const makeDue = () => worker.query('update safety_sync.stream_state set retained_at = null');
const readDeleted = () => worker.query('select id from safety.followups where _deleted_at is not null');

/** Every row of every table as text, with the entity and the key of the record that it belongs to. */
async function readAll(): Promise<string[]> {
  const all: string[] = [];
  for (const [entity, others] of Object.entries(TABLES)) {
    const key = entity === 'training_employee_status' ? 'user_id' : 'id';
    for (const place of [`${entity}.${key}`, ...others]) {
      const [table = '', column = ''] = place.split('.');
      const rows = await worker.query<{ row: string }>(
        `select '${entity} ' || ${column} || ' ' || to_jsonb(t)::text as row from safety.${table} t order by 1`,
      );
      all.push(...rows.map(({ row }) => row));
    }
  }
  return all;
}

test('retention removes exactly the rows that the source deleted long ago, with their children and states, and no people', async () => {
  await start({ deletedDays: 30 });
  const { followups, resources, equipment, employees, users } = worker.sandbox.store;
  await syncAll();
  const change = { status: 'expired', m_assignee_id: '10009', updated_on: worker.serviceNow() };
  for (const table of [followups, resources, equipment, employees])
    for (const [key, record] of [...table]) table.put({ ...record, ...change }, key);
  worker.time.now += 20 * 60_000;
  await syncAll();
  const aged = new Set<string>();
  for (const table of [followups, resources, equipment, employees, users])
    for (const key of [...table.keys()].slice(0, 4)) table.delete(key);
  worker.time.now += 20 * 60_000;
  await syncAll();
  for (const entity of Object.keys(TABLES)) {
    const key = entity === 'training_employee_status' ? 'user_id' : 'id';
    const rows = await worker.query<{
      id: string;
    }>(`update safety.${entity} set _deleted_at = ${OLD} where ${key} in (
      select ${key} from safety.${entity} where _deleted_at is not null order by 1 limit 2) returning ${key} as id`);
    if (entity !== 'users') for (const { id } of rows) aged.add(`${entity} ${id}`);
  }
  const before = await readAll();
  await makeDue();
  await syncAll();
  const kept = before.filter((row) => !aged.has(row.split(' ').slice(0, 2).join(' ')));
  expect(aged.size).toBe(8);
  expect(before.length - kept.length).toBeGreaterThan(aged.size);
  expect(await readAll()).toEqual(kept);
  const tables = STREAMS.flatMap((stream) => TABLES_OF[stream] ?? []);
  await expectWarehouseEqualsSource(worker, { tables });
});

test('retention keeps the newest run of each stream, kind and status at any age', async () => {
  await start({ runsDays: 10 });
  await syncAll(['resources', 'followups']);
  worker.sandbox.faults.next(({ method }) => method === 'followups.list', {
    kind: 'error',
    error: 'token_permission',
  });
  await worker.run('followups', { kind: 'backfill' });
  for (let run = 0; run < 3; run += 1) await worker.run('followups', { force: true });
  const state = `select account_id, stream, last_status, last_finished_at from safety.freshness order by 2`;
  await worker.query(`update safety_sync.runs set started_at = ${OLD}, finished_at = ${OLD}`);
  const before = await worker.query(state);
  const newest = await worker.query(
    `select stream, kind, status, max(run_id)::text as id from safety_sync.runs group by 1, 2, 3 order by 1, 2, 3`,
  );
  await makeDue();
  // It is the newest of its kind itself.
  await worker.run('followups', { kind: 'backfill', restart: true });
  await worker.query(`delete from safety_sync.runs where started_at <> ${OLD}`);
  expect(await worker.query(state)).toEqual(before);
  expect(
    await worker.query(
      `select stream, kind, status, run_id::text as id from safety_sync.runs order by 1, 2, 3`,
    ),
  ).toEqual(newest);
});

test('retention removes old resolved data issues and no open ones', async () => {
  await start({ issuesDays: 10 });
  for (const id of ['a', 'b', 'c'])
    worker.sandbox.store.followups.put({ ...SPECIMENS.followups.build(id), due: 'soon' });
  await syncAll(['followups']);
  await worker.query(`update safety_sync.data_issues set first_seen_at = ${OLD}, last_seen_at = ${OLD}`);
  await worker.query(`update safety_sync.data_issues set resolved_at = ${OLD} where record_id = 'a'`);
  await worker.query(`update safety_sync.data_issues set resolved_at = now() where record_id = 'b'`);
  await makeDue();
  await worker.run('followups', { force: true });
  const left = await worker.query<{ record_id: string }>(
    `select record_id from safety_sync.data_issues where field = 'due' order by 1`,
  );
  expect(left.map(({ record_id: id }) => id)).toEqual(['b', 'c']);
});

test('retention works once a day, in one of several parallel runs, and removes nothing for which no days are set', async () => {
  await start({ deletedDays: 30 });
  await syncAll(['followups']);
  const { followups } = worker.sandbox.store;
  for (const id of [...followups.keys()].slice(0, 2)) followups.delete(id);
  await syncAll(['followups']);
  const age = `update safety.followups set _deleted_at = ${OLD} where _deleted_at is not null`;
  await worker.query(age);
  await worker.run('followups', { force: true });
  expect(await readDeleted()).toHaveLength(2);
  await worker.query(`update safety_sync.stream_state set retained_at = '2020-01-01'`);
  await Promise.all([worker.run('followups', { force: true }), worker.run('followups', { force: true })]);
  expect(await readDeleted()).toEqual([]);
  expect(removed).toEqual([{ rows: 2, runs: 0, issues: 0 }]);
});
