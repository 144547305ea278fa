/** Lists without paging: only a complete, successful response deletes, and only what it covers (contract, 5.4 and 5.7). */
import { afterEach, describe, expect, test } from 'vitest';
import type { SandboxOptions } from '../../src/sandbox/index.ts';
import { createWorkerWithPast } from '../support/past.ts';
import { casesOf } from '../support/proof.ts';
import { expectWarehouseEqualsSource } from '../support/source-oracle.ts';
import { SPECIMENS } from '../support/specimens.ts';
import {
  createTimedWorker,
  expectSucceeded,
  type TimedWorker,
  type TimedWorkerOptions,
} from '../support/timed-worker.ts';
import { rowVersions, runsOf } from '../support/warehouse-marks.ts';
import { CRANES, DETECTORS, EXTINGUISHERS, HARNESSES } from '../support/equipment-types.ts';

const SIZE = { followups: 0, employees: 4, equipment: 120, resources: 60, users: 8 };
const SNAPSHOTS = ['resources', 'equipments'] as const;
type Snapshot = (typeof SNAPSHOTS)[number];

let worker: TimedWorker;
afterEach(() => worker.close());

async function start(options: TimedWorkerOptions = {}, sandbox: SandboxOptions = {}): Promise<void> {
  worker = await createTimedWorker({ ...options, sandbox: { size: SIZE, ...sandbox } });
}
/** After a first sync. */
async function startSynced(stream: Snapshot, options: TimedWorkerOptions = {}): Promise<void> {
  worker = await createWorkerWithPast({
    name: `snapshots ${stream} ${JSON.stringify(options)}`,
    create: (database) =>
      createTimedWorker({ ...options, database, sandbox: { size: SIZE, ...options.sandbox } }),
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
async function expectRefused(stream: Snapshot, code: string): Promise<void> {
  const before = await rowVersions(worker);
  expect(await worker.run(stream)).toMatchObject({ outcome: 'failed', error: { code } });
  expect(await rowVersions(worker)).toEqual(before);
  expect((await runsOf(worker, stream))[0]).toMatchObject({ status: 'failed', error_code: code, deleted: 0 });
}

// Both lists share their code: in `npm test` the list in several responses shows it.
describe.each(casesOf<Snapshot[]>({ few: ['equipments'], all: [...SNAPSHOTS] }))('%s', (stream) => {
  test('a record that the response lacks is marked deleted with its children kept, and undeleted when it returns', async () => {
    await startSynced(stream);
    const [key, record] = [...records(stream)][5] ?? ['', {}];
    records(stream).delete(key);
    expect((await sync(stream)).counts).toMatchObject({ inserted: 0, updated: 0, deleted: 1 });
    await isEqual(stream);
    expect((await sync(stream)).counts).toMatchObject({ updated: 0, deleted: 0 });
    records(stream).put(record, key);
    expect((await sync(stream)).counts).toMatchObject({ inserted: 0, updated: 1, deleted: 0 });
    await isEqual(stream);
  });

  test('a run deletes half of the rows, fails with delete_guard for more, and deletes more with --allow-mass-delete', async () => {
    await startSynced(stream);
    removeFirst(stream, records(stream).size / 2);
    expect((await sync(stream)).counts.deleted).toBe(stream === 'resources' ? 30 : 60);
    removeFirst(stream, records(stream).size / 2 + 1);
    await expectRefused(stream, 'delete_guard');
    expect((await sync(stream, true)).counts.deleted).toBe(stream === 'resources' ? 16 : 31);
    await isEqual(stream);
  });

  test('an empty response fails with delete_guard if at least 20 rows are live', async () => {
    await startSynced(stream);
    removeFirst(stream, 1000);
    await expectRefused(stream, 'delete_guard');
  });

  test('an empty response deletes all rows if fewer than 20 are live', async () => {
    await start({}, { size: { ...SIZE, equipment: 19, resources: 19 } });
    await sync(stream);
    removeFirst(stream, 1000);
    expect((await sync(stream)).counts).toMatchObject({ read: 0, deleted: 19 });
    await isEqual(stream);
  });

  test('a run whose responses are all cut off fails with response_cut and deletes nothing', async () => {
    await startSynced(stream, { mostRetries: 2 });
    for (const share of casesOf({ few: [0.999], all: [0.2, 0.9, 0.999] })) {
      worker.sandbox.faults.next(() => true, { kind: 'cut', share }, 12);
      await expectRefused(stream, 'response_cut');
      worker.sandbox.faults.clear();
    }
  });
});

describe('equipment types', () => {
  const keyOfType = (type: string): string =>
    [...worker.sandbox.store.equipment].find(([, one]) => one.equipmentType_id === type)?.[0] ?? '';
  const typeOf = async (id: string) =>
    await worker.query(
      `select equipment_type_id as type, _deleted_at is not null as is_deleted from safety.equipment where id = '${id}'`,
    );
  /** The response with other types, and without metavalues, because they differ from type to type. */
  const withoutTypes = (
    response: Readonly<Record<string, unknown>>,
    typeOfRecord: (type: string) => string | undefined,
  ) => ({
    ...response,
    equipments: (response['equipments'] as Record<string, unknown>[]).map(
      ({ equipmentType_id: type, ...record }) => ({
        ...record,
        equipmentType_id: typeOfRecord(String(type)),
        metavalues: {},
      }),
    ),
  });
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

  test('a record without equipmentType_id has the type of the request that returned it, also after it moved', async () => {
    await start();
    const key = keyOfType(CRANES);
    worker.sandbox.hooks.rewriteResponse = (_entry, response) => withoutTypes(response, () => undefined);
    await sync('equipments');
    worker.sandbox.store.equipment.update(key, { equipmentType_id: DETECTORS });
    expect((await sync('equipments')).counts).toMatchObject({ updated: 1, deleted: 0 });
    expect(await typeOf(key)).toEqual([{ type: DETECTORS, is_deleted: false }]);
    expect((await sync('equipments')).counts).toMatchObject({ updated: 0, deleted: 0 });
  });

  test('a record with a finer type than requested is deleted if the response lacks it, and stays if its type is no longer requested', async () => {
    await start();
    worker.sandbox.hooks.rewriteResponse = (_entry, response) =>
      withoutTypes(response, (type) => `${type}-A`);
    await sync('equipments');
    const [gone, kept] = [keyOfType(CRANES), keyOfType(HARNESSES)];
    worker.sandbox.store.equipment.delete(gone);
    expect((await sync('equipments')).counts).toMatchObject({ updated: 0, deleted: 1 });
    expect(await typeOf(gone)).toEqual([{ type: `${CRANES}-A`, is_deleted: true }]);
    Object.assign(worker.settings, { equipmentTypes: [CRANES, DETECTORS] });
    worker.sandbox.store.equipment.delete(kept);
    expect((await sync('equipments')).counts).toMatchObject({ updated: 0, deleted: 0 });
    expect(await typeOf(kept)).toEqual([{ type: `${HARNESSES}-A`, is_deleted: false }]);
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
