/** Lists without paging: only a complete, successful response deletes, and only what it covers (contract, 5.4 and 5.7). */
import { afterEach, describe, expect, test } from 'vitest';
import {
  createTimedWorker,
  createWorkerWithPast,
  expectSucceeded,
  rowVersions,
  runsOf,
  type TimedWorker,
} from '../support/world.ts';
import { casesOf } from '../support/proof.ts';
import { expectWarehouseEqualsSource } from '../support/source-oracle.ts';
import { SPECIMENS } from '../support/specimens.ts';
import { CRANES, DETECTORS, EXTINGUISHERS, HARNESSES } from '../support/equipment-types.ts';

const SIZE = { followups: 0, employees: 4, equipment: 120, resources: 60, users: 8 };
const SNAPSHOTS = ['resources', 'equipments'] as const;
type Snapshot = (typeof SNAPSHOTS)[number];

let worker: TimedWorker;
afterEach(() => worker.close());
/** After a first sync. */
async function startSynced(stream: Snapshot): Promise<void> {
  worker = await createWorkerWithPast({
    name: `snapshots ${stream}`,
    create: (database) => createTimedWorker({ database, sandbox: { size: SIZE } }),
    happen: async (earlier, isStored) => {
      if (!isStored) expectSucceeded(await earlier.run(stream));
    },
  });
}
const sync = async (stream: Snapshot, allowMassDelete = false) =>
  expectSucceeded(await worker.run(stream, { allowMassDelete }));
const isEqual = (stream: Snapshot) =>
  expectWarehouseEqualsSource(worker, {
    tables:
      stream === 'resources'
        ? ['resources', 'resource_versions']
        : ['equipment', 'equipment_schedules', 'equipment_metavalues', 'equipment_asked_types'],
  });
const records = (stream: Snapshot) => SPECIMENS[stream].records(worker);
function removeFirst(stream: Snapshot, count: number, type?: string): void {
  const keys = [...records(stream)]
    .filter(
      ([, one]) => type === undefined || (one as { equipmentType_id?: string }).equipmentType_id === type,
    )
    .map(([key]) => key);
  for (const key of keys.slice(0, count)) records(stream).delete(key);
}

// Both lists share their code: in `npm test` the list in several responses shows it.
test.each(casesOf<Snapshot[]>({ few: ['equipments'], all: [...SNAPSHOTS] }))(
  'a run of %s deletes half of the rows, fails with delete_guard for more, and deletes more with --allow-mass-delete',
  async (stream) => {
    await startSynced(stream);
    removeFirst(stream, records(stream).size / 2);
    expect((await sync(stream)).counts.deleted).toBe(stream === 'resources' ? 30 : 60);
    removeFirst(stream, records(stream).size / 2 + 1);
    const before = await rowVersions(worker);
    const refused = { error_code: 'delete_guard', deleted: 0 };
    expect(await worker.run(stream)).toMatchObject({
      outcome: 'failed',
      error: { code: refused.error_code },
    });
    expect(await rowVersions(worker)).toEqual(before);
    expect((await runsOf(worker, stream))[0]).toMatchObject({ status: 'failed', ...refused });
    expect((await sync(stream, true)).counts.deleted).toBe(stream === 'resources' ? 16 : 31);
    await isEqual(stream);
  },
);

describe('equipment types', () => {
  const keyOfType = (type: string): string =>
    [...worker.sandbox.store.equipment].find(([, one]) => one.equipmentType_id === type)?.[0] ?? '';
  const types = async () =>
    await worker.query<{ type: string; live: number }>(
      `select equipment_type_id as type, count(*) filter (where _deleted_at is null)::int as live
       from safety.equipment group by 1 order by 1`,
    );

  test('if the request for one type fails, the others are stored, and no row is deleted until a run reads every type', async () => {
    await startSynced('equipments');
    removeFirst('equipments', 2, CRANES);
    removeFirst('equipments', 3, HARNESSES);
    removeFirst('equipments', 4, DETECTORS);
    // Before the type that fails, and after it.
    for (const type of [CRANES, DETECTORS])
      worker.sandbox.store.equipment.update(keyOfType(type), { notes: 'changed' });
    worker.sandbox.faults.next(({ params }) => params['equipmentType_id'] === HARNESSES, {
      kind: 'error',
      error: 'content_not_found',
    });
    const result = await worker.run('equipments');
    expect(result).toMatchObject({
      outcome: 'failed',
      error: { code: 'content_not_found' },
      counts: { inserted: 0, updated: 2, deleted: 0 },
    });
    expect((await runsOf(worker, 'equipments'))[0]).toMatchObject({
      status: 'failed',
      updated: 2,
      deleted: 0,
    });
    expect(await types()).toEqual([
      { type: CRANES, live: 30 },
      { type: HARNESSES, live: 30 },
      { type: EXTINGUISHERS, live: 30 },
      { type: DETECTORS, live: 30 },
    ]);
    expect((await sync('equipments')).counts).toMatchObject({ deleted: 9 });
    await isEqual('equipments');
  });

  test('a type that exceeds MAX_DELETE_RATIO fails the run and keeps its rows; updates and deletions of other types are stored', async () => {
    await startSynced('equipments');
    removeFirst('equipments', 16, HARNESSES);
    removeFirst('equipments', 2, DETECTORS);
    worker.sandbox.store.equipment.update(keyOfType(CRANES), { notes: 'changed' });
    const result = await worker.run('equipments');
    expect(result).toMatchObject({
      outcome: 'failed',
      error: {
        code: 'delete_guard',
        message: `the response for ${HARNESSES} lacks 16 of 30 live rows, more than MAX_DELETE_RATIO (0.5) allows`,
      },
      counts: { updated: 1, deleted: 2 },
    });
    expect((await runsOf(worker, 'equipments'))[0]).toMatchObject({
      status: 'failed',
      error_code: 'delete_guard',
      updated: 1,
      deleted: 2,
    });
    expect(await types()).toContainEqual({ type: HARNESSES, live: 30 });
    expect((await sync('equipments', true)).counts).toMatchObject({ deleted: 16 });
    await isEqual('equipments');
  });
});

test('a training list that is calculated anew between two pages leaves nothing of the first one', async () => {
  const size = { ...SIZE, employees: 12 };
  worker = await createTimedWorker({ sandbox: { size, readings: { largestPage: 5 } } });
  const { hooks, store } = worker.sandbox;
  hooks.beforeResponse = ({ params }) => {
    if (params['page'] !== 3) return;
    hooks.beforeResponse = undefined;
    const [gone = '', moved = ''] = store.employees.keys();
    store.employees.delete(gone);
    store.employees.update(moved, { status: 'changed' });
    store.recalculateTraining(worker.serviceNow() + 1);
  };
  const { counts } = expectSucceeded(await worker.run('training-employee-status'));
  expect(counts).toMatchObject({ read: 11, inserted: 11, updated: 0, deleted: 0 });
  await expectWarehouseEqualsSource(worker, { tables: ['training_employee_status', 'training_completions'] });
  expect(await worker.query('select user_id from safety.training_employee_status')).toHaveLength(11);
});

test('a training list that is still current is asked for no more: by hand a row says so, a scheduled run leaves none', async () => {
  worker = await createTimedWorker({ sandbox: { size: SIZE } });
  const run = (trigger: 'manual' | 'schedule') => worker.run('training-employee-status', { trigger });
  expectSucceeded(await run('manual'));
  expect(await run('schedule')).toMatchObject({ outcome: 'skipped', requests: 0, runId: null });
  expect(await run('manual')).toMatchObject({
    outcome: 'skipped',
    requests: 0,
    runId: expect.any(Number) as number,
  });
  const rows = await worker.query('select status from safety_sync.runs order by run_id');
  expect(rows).toEqual([{ status: 'succeeded' }, { status: 'skipped' }]);
});
