/** A program that is older than the schema stores nothing. */
import { expect, test } from 'vitest';
import { VERSION } from '../../src/version.ts';
import { runInProcess, startInProcess } from '../support/in-process.ts';
import { forEachTest } from '../support/lifetime.ts';
import { createTestWorker, serviceEnv } from '../support/world.ts';

const worker = forEachTest(() => createTestWorker());
const env = () => ({ ...serviceEnv(worker), HTTP_PORT: '0' });

const NEWER = `the warehouse was migrated by safety-sync 9.9.9, and this is the older ${VERSION}`;
const ADVICE = 'Use that version of safety-sync, or a newer one';
const migrateByNewer = () =>
  worker.query(`insert into safety_sync.migrations (hash, created_at, program_version)
    values ('', 9000000000000, '9.9.9')`);

test('if the schema is newer, every verb reports both versions, exits with 2 and stores nothing', async () => {
  await migrateByNewer();
  for (const verb of 'sync reconcile backfill start migrate status runs report check'.split(' ')) {
    const { code, stdout, stderr } = await runInProcess([verb], env());
    expect(`${stdout}${stderr}`, verb).toContain(NEWER);
    expect(`${stdout}${stderr}`, verb).toContain(ADVICE);
    expect(code, verb).toBe(2);
  }
  expect(
    await worker.query(`select (select count(*)::int from safety_sync.runs) as runs,
      (select count(*)::int from safety_sync.stream_state) as streams, (select count(*)::int from safety.followups) as rows`),
  ).toEqual([{ runs: 0, streams: 0, rows: 0 }]);
});

test('a running worker stores nothing more and exits with 2 after a newer program has migrated', async () => {
  const running = startInProcess(['start'], { ...env(), SYNC_CRON: '* * * * * *' });
  await running.untilStderr(/users: succeeded/);
  await migrateByNewer();
  // A run that has begun before may store.
  const [{ late } = {}] = await worker.query<{ late: string }>(
    `select (clock_timestamp() + interval '1 second')::text as late`,
  );
  const { code, stderr } = await running.finished;
  expect(stderr).toContain(`database_newer: ${NEWER}`);
  expect(code).toBe(2);
  expect(await worker.query(`select stream from safety_sync.runs where started_at > '${late}'`)).toEqual([]);
});

test('views of a newer version are a newer schema; other views of this version wait for the next migration', async () => {
  const replace = (version: string) =>
    worker.query(
      `update safety_sync.migrations set hash = 'other', program_version = '${version}' where name = 'resource_tags'`,
    );
  await replace('9.9.9');
  const refused = await runInProcess(['sync'], env());
  expect(refused.stderr).toContain(NEWER);
  expect(refused.code).toBe(2);
  await replace(VERSION);
  // Views may wait for their readers for long.
  for (const verb of ['status', 'labels']) expect((await runInProcess([verb], env())).stderr).toBe('');
  expect((await runInProcess(['migrate'], env())).stdout).toMatch(/^Applied 1 migration;/);
});

test('migrate and sync refuse a warehouse of a build from before 1.0 and record no run', async () => {
  await worker.query(
    `insert into safety_sync.migrations (hash, created_at, program_version) values ('', 1795000000000, '0.1.0')`,
  );
  for (const verb of ['migrate', 'sync']) {
    const { code, stderr } = await runInProcess([verb], env());
    expect(stderr).toContain('database_too_old: this warehouse was made by a build from before 1.0');
    expect(stderr).toContain('make a new database, or remove .data');
    expect(code).toBe(2);
  }
  expect(await worker.query('select from safety_sync.runs')).toEqual([]);
});
