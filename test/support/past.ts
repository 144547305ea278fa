import { createHash } from 'node:crypto';
import { inject } from 'vitest';
import type { SandboxOptions } from '../../src/sandbox/index.ts';
import { createTestDatabase, createTestDatabaseOnce, type TestDatabase } from './test-database.ts';
import { createTestWorker, type TestWorker } from './worker.ts';

interface Past<W extends TestWorker> {
  /** Unique among all test files. */
  readonly name: string;
  /** Deterministic: the source of each worker is the same. */
  readonly create: (database: TestDatabase) => Promise<W>;
  /** Changes the source and stores it. With `isStored` only the source is changed, because the warehouse has it already. */
  readonly happen: (worker: W, isStored: boolean) => Promise<void>;
}

/**
 * A worker on a warehouse with a past. The first test of a run that needs it stores the past, and every test clones that
 * warehouse: a clone costs as much as an empty warehouse, and each run costs more.
 */
export async function createWorkerWithPast<W extends TestWorker>(past: Past<W>): Promise<W> {
  const { name, create, happen } = past;
  // A background worker of Citus is connected to each of its databases, so they cannot be cloned.
  if (inject('testServerNodes').length > 1) {
    const first = await create(await createTestDatabase());
    await happen(first, false);
    return first;
  }
  const key = createHash('sha1').update(name).digest('hex').slice(0, 12);
  const original = await createTestDatabaseOnce(key, async (database) => {
    const worker = await create({ ...database, drop: () => Promise.resolve() });
    await happen(worker, false).finally(() => worker.close());
  });
  const worker = await create(await createTestDatabase(original));
  await happen(worker, true);
  return worker;
}

/** A worker on a warehouse in which every stream was synced once. */
export async function createSyncedWorker(sandbox: SandboxOptions = {}): Promise<TestWorker> {
  // Each of its services is made at the same moment, the beginning of the test run, so that all have the same records.
  const began = inject('testRunBegan');
  return await createWorkerWithPast({
    name: `synced ${JSON.stringify(sandbox)}`,
    create: async (database) => {
      const made: { atMs?: number } = {};
      const clock = () => (made.atMs === undefined ? began : began + Date.now() - made.atMs);
      const worker = await createTestWorker({ database, sandbox: { ...sandbox, clock } });
      made.atMs = Date.now();
      return worker;
    },
    happen: (worker, isStored) => (isStored ? Promise.resolve() : worker.syncAll()),
  });
}
