/** Records that come in other bytes: the order of fields, white space and spellings are no change (contract, 4). */
import { afterEach, expect, test } from 'vitest';
import type { SandboxOptions } from '../../src/sandbox/index.ts';
import type { RunRequest } from '../../src/engine/sync/run.ts';
import { casesOf } from '../support/proof.ts';
import { expectWarehouseEqualsSource } from '../support/source-oracle.ts';
import { SPECIMENS } from '../support/specimens.ts';
import { createTimedWorker, expectSucceeded, rowVersions, type TimedWorker } from '../support/world.ts';

const STREAMS = [
  'followups',
  'resources',
  'equipments',
  'training-employee-status',
  'completed-trainings',
] as const;
type Stream = (typeof STREAMS)[number];
const SIZE = { followups: 30, employees: 12, equipment: 20, resources: 10, users: 6 };

let worker: TimedWorker;
afterEach(() => worker.close());

const start = async (sandbox: SandboxOptions = {}) => {
  worker = await createTimedWorker({ sandbox: { size: SIZE, ...sandbox } });
};
const run = async (stream: Stream, request: Partial<RunRequest> = {}) => {
  return expectSucceeded(await worker.run(stream, { force: true, ...request })).counts;
};
const sendOtherBytes = () => {
  worker.sandbox.readings.bytes = 'other-each-time';
};

test('no row is written if the bytes of all records change and their content does not', async () => {
  await start();
  for (const stream of STREAMS) await run(stream);
  expectSucceeded(await worker.run('users'));
  const before = await rowVersions(worker);
  sendOtherBytes();
  const kinds = ['sync', 'reconcile', 'sync'] as const;
  for (const kind of casesOf({ few: kinds.slice(1, 2), all: [...kinds] })) {
    for (const stream of STREAMS) {
      await SPECIMENS[stream].beforeRun(worker);
      const counts = await run(stream, { kind });
      expect(counts).toMatchObject({ inserted: 0, updated: 0, deleted: 0, rejected: 0 });
      expect(counts.unchanged).toBe(counts.read);
      if (stream !== 'followups' || kind === 'reconcile') expect(counts.read).toBeGreaterThan(0);
    }
  }
  expect(await rowVersions(worker)).toEqual(before);
  await expectWarehouseEqualsSource(worker);
});
