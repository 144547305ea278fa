/** Lists without paging, read without a database: pages that were not requested, types that fail (contract, 5.4 and 5.7). */
import { describe, expect, test } from 'vitest';
import {
  failedBy,
  isEqual,
  type MemoryWorkerOptions,
  startWorker,
  stored,
  sync,
  worker,
} from '../../support/memory-world.ts';
import { HOUR_MS } from '../../../src/shared/time.ts';
import { streamNamed } from '../../../src/engine/streams/index.ts';
import { SPECIMENS } from '../../support/specimens.ts';
import { CRANES } from '../../support/equipment-types.ts';

const SIZE = { followups: 0, employees: 4, equipment: 120, resources: 60, users: 8 };
const SNAPSHOTS = ['resources', 'equipments'] as const;
type Snapshot = (typeof SNAPSHOTS)[number];

const start = (options: MemoryWorkerOptions = {}) => startWorker({ ...options, sandbox: { size: SIZE } });
const records = (stream: Snapshot) => SPECIMENS[stream].records(worker);

describe.each(SNAPSHOTS)('the snapshot of %s', (stream) => {
  const unreadable: Record<string, () => void> = {
    'whose further pages are refused': () => undefined,
    'whose further pages are refused, without a total': () => {
      worker.sandbox.hooks.rewriteResponse = (_entry, response) =>
        response['ok'] === true ? { ...response, paging: { last_page: 5 } } : response;
    },
  };
  test.each(Object.entries(unreadable))(
    'with paging %s, the run fails, stores what it received and deletes nothing',
    async (_name, spoil) => {
      await start();
      await sync(stream);
      const [first] = records(stream).keys();
      records(stream).update(first ?? '', { [SPECIMENS[stream].text.field]: 'changed' });
      worker.sandbox.readings.unaskedPageSize = 13;
      worker.sandbox.faults.next(
        ({ params }) => 'page' in params,
        { kind: 'error', error: 'parameter_unexpected' },
        Infinity,
      );
      spoil();
      const result = await worker.run(stream);
      expect(result).toMatchObject({ outcome: 'failed', counts: { updated: 1, deleted: 0 } });
      worker.sandbox.hooks.rewriteResponse = undefined;
      worker.sandbox.faults.clear();
      worker.sandbox.readings.unaskedPageSize = null;
      expect((await sync(stream)).counts).toMatchObject({ inserted: 0, updated: 0, deleted: 0 });
      await isEqual(stream);
    },
  );
});

test.each(['resources', 'equipments', 'training-employee-status'] as const)(
  'a response of %s with a member that is not known deletes nothing, and the run names it',
  async (stream) => {
    await start();
    await sync(stream);
    const before = stored(stream).size;
    worker.time.now += HOUR_MS;
    worker.sandbox.store.recalculateTraining(worker.serviceNow());
    const list = streamNamed(stream).responseKey;
    worker.sandbox.hooks.rewriteResponse = (_entry, response) => ({
      ...response,
      [list]: (response[list] as unknown[]).slice(1),
      ...(response['paging'] !== undefined && { paging: { total: before - 1, last_page: 1 } }),
      has_more: true,
    });
    expect(await sync(stream)).toMatchObject({
      counts: { deleted: 0 },
      note: expect.stringContaining('members that are not known: has_more') as unknown,
    });
    expect(stored(stream).size).toBe(before);
  },
);

test.each(SNAPSHOTS)('an empty response of %s that announces records is not complete', async (stream) => {
  await start();
  await sync(stream);
  const empty = { [streamNamed(stream).responseKey]: [], paging: { total: 3 } };
  worker.sandbox.hooks.rewriteResponse = (_entry, response) => ({ ...response, ...empty });
  expect(await worker.run(stream)).toMatchObject({ ...failedBy('read_incomplete'), counts: { deleted: 0 } });
});

test('a service that cannot be reached receives requests for one more type only, and records received before are stored', async () => {
  await start({ mostRetries: 2 });
  const isLater = ({ params }: { params: Record<string, unknown> }) => params['equipmentType_id'] !== CRANES;
  worker.sandbox.faults.next(isLater, { kind: 'reset' }, 1000);
  const result = await worker.run('equipments');
  // One request for the first type, and three attempts for the second one.
  expect(result).toMatchObject({ ...failedBy('network_error'), requests: 4 });
  expect(stored('equipments').size).toBe(30);
  worker.sandbox.faults.clear();
  await sync('equipments');
  await isEqual('equipments');
});
