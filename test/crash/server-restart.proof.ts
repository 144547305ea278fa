/** A PostgreSQL server that goes down in the middle of a run and comes back (contract, 5.1, 5.2). */
import { expect, onTestFinished, test } from 'vitest';
import { acquireEmbeddedServer } from '../../src/embedded/server.ts';
import { migrateDatabase } from '../../src/warehouse/migrate.ts';
import { folderForTest, forEachTest } from '../support/lifetime.ts';
import { expectWarehouseEqualsSource } from '../support/source-oracle.ts';
import { createTimedWorker, expectSucceeded, runsOf, stateOf } from '../support/world.ts';

const SIZE = { followups: 240, employees: 2, equipment: 2, resources: 2, users: 12 };
const tables = ['followups', 'followup_messages', 'followup_attachments'] as const;

const worker = forEachTest(async () => {
  const dataDir = await folderForTest('safety-sync-restart-');
  const server = await acquireEmbeddedServer({
    dataDir,
    database: 'warehouse',
    postgresOptions: { fsync: 'off' },
  });
  onTestFinished(() => server.release());
  await migrateDatabase(server.url);
  return await createTimedWorker({
    database: { url: server.url, drop: () => Promise.resolve() },
    settings: { sliceConcurrency: 2 },
    sandbox: { size: SIZE, readings: { largestPage: 10 }, latencyMs: 200 },
  });
});

async function storedRows(): Promise<number> {
  const [stored] = await worker.query<{ rows: number }>('select count(*)::int as rows from safety.followups');
  return stored?.rows ?? 0;
}

/**
 * One backend that dies by force takes all of PostgreSQL down: it ends every session and recovers from its log. The
 * commits of a page may be lost then, up to the last moment that PostgreSQL wrote its log: here, all are on the disk.
 */
async function crashServer(): Promise<void> {
  await expect.poll(storedRows).toBeGreaterThan(0);
  await worker.query('checkpoint');
  const [run] = await worker.query<{ pid: number }>(
    `select backend_pid as pid from safety_sync.runs where status = 'running'`,
  );
  if (run === undefined) throw new Error('no run is under way');
  process.kill(run.pid, 'SIGKILL');
}

test('a run that loses its server is closed as failed and keeps its stored rows, and after the next run the warehouse equals the source', async () => {
  let pages = 0;
  let crash: Promise<void> | undefined;
  worker.sandbox.hooks.beforeResponse = async () => {
    pages += 1;
    // After the first commit, which comes a second after the beginning; every later response waits for the crash.
    if (crash === undefined && pages >= 8 && (await storedRows()) > 0) crash = crashServer();
    await crash;
  };
  const cutOff = await worker.run('followups');
  worker.sandbox.hooks.beforeResponse = undefined;
  expect(cutOff).toMatchObject({ outcome: 'failed', error: { code: 'lock_lost' } });
  // PostgreSQL refuses connections until it has recovered.
  await expect.poll(() => storedRows().catch(() => 0), { timeout: 30_000 }).toBeGreaterThan(0);
  expect((await stateOf(worker, 'followups')).watermark).toBeNull();
  expect(await storedRows()).toBeGreaterThan(0);

  const pagesBefore = pages;
  worker.sandbox.requests.length = 0;
  expectSucceeded(await worker.run('followups'));
  // By itself, or by the next run where the server was still away.
  expect((await runsOf(worker, 'followups')).at(-1)).toMatchObject({ status: 'failed' });
  expect(worker.sandbox.requests.length).toBeLessThan(pagesBefore + SIZE.followups / 10);
  await expectWarehouseEqualsSource(worker, { tables });
  worker.sandbox.live.step(60);
  expectSucceeded(await worker.run('followups'));
  await expectWarehouseEqualsSource(worker, { tables, exceptDeletedFollowups: true });
});
