import { inject } from 'vitest';
import { createTestDatabase, type TestDatabase } from './test-database.ts';
import type { TestWorker } from './worker.ts';

/** Warehouses with a past, by its name. */
const stored = new Map<string, Promise<TestDatabase>>();

interface Past<W extends TestWorker> {
  /** Unique among all test files. */
  readonly name: string;
  /** Deterministic: the source of each worker is the same. */
  readonly create: (database: TestDatabase) => Promise<W>;
  /** Changes the source and stores it. With `isStored` only the source is changed, because the warehouse has it already. */
  readonly happen: (worker: W, isStored: boolean) => Promise<void>;
}

/**
 * A worker on a warehouse with a past. Each test process stores the past once and clones that warehouse for every test:
 * a clone costs as much as an empty warehouse, and each run costs more.
 */
export async function createWorkerWithPast<W extends TestWorker>(past: Past<W>): Promise<W> {
  const { name, create, happen } = past;
  // A background worker of Citus is connected to each of its databases, so they cannot be cloned.
  if (inject('testServerNodes').length > 1) {
    const first = await create(await createTestDatabase());
    await happen(first, false);
    return first;
  }
  const original = stored.get(name) ?? store(past);
  stored.set(name, original);
  const worker = await create(await createTestDatabase(await original));
  await happen(worker, true);
  return worker;
}

async function store<W extends TestWorker>({ create, happen }: Past<W>): Promise<TestDatabase> {
  const database = await createTestDatabase();
  const worker = await create({ ...database, drop: () => Promise.resolve() });
  try {
    await happen(worker, false);
  } finally {
    await worker.close();
  }
  return database;
}
