/** Records that come in other bytes: the order of fields, white space and spellings are no change (contract, 4). */
import { expect, test } from 'vitest';
import type { RunKind } from '../../src/engine/streams/state.ts';
import type { StreamName } from '../../src/engine/streams/stream.ts';
import { forEachTest } from '../support/lifetime.ts';
import { casesOf } from '../support/proof.ts';
import { expectWarehouseEqualsSource } from '../support/source-oracle.ts';
import { SPECIMENS } from '../support/specimens.ts';
import { createTimedWorker, expectSucceeded, rowVersions } from '../support/world.ts';

const STREAMS = [
  'followups',
  'resources',
  'equipments',
  'training-employee-status',
  'completed-trainings',
] as const;
const SIZE = { followups: 30, employees: 12, equipment: 20, resources: 10, users: 6 };

const worker = forEachTest(() => createTimedWorker({ sandbox: { size: SIZE } }));
const run = async (stream: StreamName, kind: RunKind) =>
  expectSucceeded(await worker.run(stream, { kind, force: true })).counts;

test('no row is written if the bytes of all records change and their content does not', async () => {
  for (const stream of [...STREAMS, 'users']) await run(stream, 'sync');
  const before = await rowVersions(worker);
  worker.sandbox.readings.bytes = 'other-each-time';
  const kinds = ['sync', 'reconcile', 'sync'] as const;
  for (const kind of casesOf({ few: kinds.slice(1, 2), all: [...kinds] })) {
    for (const stream of STREAMS) {
      await SPECIMENS[stream].beforeRun(worker);
      const counts = await run(stream, kind);
      expect(counts).toMatchObject({ inserted: 0, updated: 0, deleted: 0, rejected: 0 });
      expect(counts.unchanged).toBe(counts.read);
      if (stream !== 'followups' || kind === 'reconcile') expect(counts.read).toBeGreaterThan(0);
    }
  }
  expect(await rowVersions(worker)).toEqual(before);
  await expectWarehouseEqualsSource(worker);
});
