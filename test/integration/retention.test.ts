/** Retention: rows beyond their time are removed, a step at a time; all other rows stay as they are. */
import { afterEach, expect, test } from 'vitest';
import type { Retention, Removed } from '../../src/engine/history/retention.ts';
import type { StreamName } from '../../src/engine/streams/stream.ts';
import { casesOf } from '../support/proof.ts';
import { createRandom, type SeededRandom } from '../support/seeded-random.ts';
import { expectWarehouseEqualsSource } from '../support/source-oracle.ts';
import { SPECIMENS } from '../support/specimens.ts';
import { createTimedWorker, expectSucceeded, type TimedWorker } from '../support/timed-worker.ts';

const ROUNDS = casesOf({ few: 1, all: 5 });
const OLD = `'2001-02-03T04:05:06Z'::timestamptz`;
const STREAMS = [
  'resources',
  'followups',
  'training-employee-status',
  'equipments',
  'completed-trainings',
  'users',
] as const;
const ENTITIES = {
  resources: 'id',
  followups: 'id',
  training_employee_status: 'user_id',
  equipment: 'id',
  training_records: 'id',
} as const;
const TABLES = {
  'safety.resources': 'id',
  'safety.resource_versions': 'resource_id',
  'safety.followups': 'id',
  'safety.followup_states': 'id',
  'safety.followup_messages': 'followup_id',
  'safety.followup_attachments': 'followup_id',
  'safety.training_employee_status': 'user_id',
  'safety.training_employee_status_states': 'user_id',
  'safety.training_completions': 'user_id',
  'safety.training_completion_states': 'user_id',
  'safety.equipment': 'id',
  'safety.equipment_states': 'id',
  'safety.equipment_schedules': 'equipment_id',
  'safety.equipment_schedule_states': 'equipment_id',
  'safety.equipment_metavalues': 'equipment_id',
  'safety.training_records': 'id',
  'safety.users': 'id',
} as const;

let worker: TimedWorker;
let removed: Removed[] = [];
afterEach(() => worker.close());

async function start(retention: Retention, rows = 24): Promise<void> {
  removed = [];
  worker = await createTimedWorker({
    retention,
    sandbox: { size: { followups: rows, employees: 12, equipment: 16, resources: 8, users: 6 } },
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
const count = async (from: string) =>
  (await worker.query<{ n: number }>(`select count(*)::int as n from ${from}`))[0]?.n ?? 0;

/** Every row of every table as text, with the key of the record that it belongs to. */
async function readAll(): Promise<string[]> {
  const all: string[] = [];
  for (const [table, key] of Object.entries(TABLES)) {
    const rows = await worker.query<{ row: string }>(
      `select '${table} ' || coalesce(${key}, '') || ' ' || to_jsonb(t)::text as row from ${table} t order by 1`,
    );
    all.push(...rows.map(({ row }) => row));
  }
  return all;
}

/** Some rows that the source has deleted have been so for long. Returns `table key` of each. */
async function ageSome(random: SeededRandom): Promise<Set<string>> {
  const aged = new Set<string>();
  for (const [table, key] of Object.entries(ENTITIES)) {
    const rows = await worker.query<{ key: string }>(
      `select ${key} as key from safety.${table} where _deleted_at is not null order by 1`,
    );
    for (const row of rows) {
      if (random.below(2) === 0) continue;
      await worker.query(`update safety.${table} set _deleted_at = ${OLD} where ${key} = '${row.key}'`);
      aged.add(`${table} ${row.key}`);
    }
  }
  return aged;
}

const PARENT_OF = (table: string): string =>
  Object.keys(ENTITIES).find((entity) =>
    table.startsWith(`safety.${entity === 'equipment' ? entity : entity.replace(/s$/, '')}`),
  ) ?? (table.startsWith('safety.training_completion') ? 'training_employee_status' : '');

test('retention removes exactly the rows that the source deleted long ago, with their children and states', async () => {
  await start({ deletedDays: 30 });
  const random = createRandom(11);
  const { store } = worker.sandbox;
  await syncAll();
  await worker.query(`insert into safety.training_completion_states
      (account_id, user_id, training_id, completed_on, valid_from, valid_to)
    select account_id, user_id, training_id, completed_on - 365, _valid_from - interval '1 hour', _valid_from
    from safety.training_completions`);
  for (let round = 0; round < ROUNDS; round += 1) {
    const { followups, resources, equipment, employees, completedTrainings } = store;
    for (const table of [followups, resources, equipment, employees, completedTrainings]) {
      for (const [key, record] of [...table]) {
        if (random.below(5) === 0) table.delete(key);
        else if (random.below(3) === 0) {
          table.put({
            ...record,
            status: 'expired',
            m_assignee_id: `1000${round}`,
            updated_on: worker.serviceNow(),
          });
        }
      }
    }
    // People stay, because rows of other streams show their names.
    if (round === 0) store.users.delete([...store.users.keys()][0] ?? '');
    worker.time.now += 20 * 60_000;
    await makeDue();
    await syncAll();
    await worker.query(`update safety.users set _deleted_at = ${OLD} where _deleted_at is not null`);
    const aged = await ageSome(random);
    const before = await readAll();
    await makeDue();
    await syncAll();
    const kept = before.filter((row) => {
      const [table = '', key = ''] = row.split(' ');
      return !aged.has(`${PARENT_OF(table)} ${key}`);
    });
    expect(aged.size).toBeGreaterThan(0);
    expect(await count('safety.users where _deleted_at is not null')).toBe(1);
    expect(before.length - kept.length).toBeGreaterThan(aged.size);
    expect(await readAll()).toEqual(kept);
    await expectWarehouseEqualsSource(worker);
  }
  expect(await worker.query(`select distinct repaired from safety_sync.runs where repaired > 0`)).toEqual([]);
});

test('retention keeps the newest run of each stream, kind and status at any age', async () => {
  await start({ runsDays: 10 });
  await syncAll();
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
  worker.sandbox.store.followups.put({ ...SPECIMENS.followups.build('a'), due: 'soon' });
  worker.sandbox.store.followups.put({ ...SPECIMENS.followups.build('b'), due: 'soon' });
  worker.sandbox.store.followups.put({ ...SPECIMENS.followups.build('c'), due: 'soon' });
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
  worker.sandbox.store.followups.delete([...worker.sandbox.store.followups.keys()][0] ?? '');
  worker.sandbox.store.followups.delete([...worker.sandbox.store.followups.keys()][1] ?? '');
  await syncAll(['followups']);
  const age = `update safety.followups set _deleted_at = ${OLD} where _deleted_at is not null`;
  await worker.query(age);
  await worker.run('followups', { force: true });
  expect(await count('safety.followups where _deleted_at is not null')).toBe(2);
  await worker.query(`update safety_sync.stream_state set retained_at = '2020-01-01'`);
  await Promise.all([worker.run('followups', { force: true }), worker.run('followups', { force: true })]);
  expect(await count('safety.followups where _deleted_at is not null')).toBe(0);
  expect(removed).toEqual([{ rows: 2, runs: 0, issues: 0 }]);

  // The clock of the database was a year ahead, and was put back.
  await worker.query(`update safety.followups set _deleted_at = ${OLD}`);
  await worker.query(`update safety_sync.stream_state set retained_at = now() + interval '1 year'`);
  await worker.run('followups', { force: true });
  expect(await count('safety.followups where _deleted_at is not null')).toBe(0);
});
