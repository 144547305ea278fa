/** A program that does not know what the schema holds stores nothing there. */
import { afterEach, beforeEach, expect, test } from 'vitest';
import { openConnection } from '../../src/database/connection.ts';
import { migrateDatabase } from '../../src/database/migrate.ts';
import { VERSION } from '../../src/version.ts';
import { runInProcess, startInProcess } from '../support/in-process.ts';
import { createTestWorker, type TestWorker } from '../support/worker.ts';
import { expectSucceeded } from '../support/timed-worker.ts';
import { rowVersions } from '../support/warehouse-marks.ts';

let worker: TestWorker;
let env: Record<string, string>;
beforeEach(async () => {
  worker = await createTestWorker();
  env = {
    DATABASE_URL: worker.databaseUrl,
    SAFETY_BASE_URL: worker.sandbox.url,
    SAFETY_TOKEN: worker.sandbox.token,
    SAFETY_EQUIPMENT_TYPES: worker.sandbox.equipmentTypes.join(','),
    HTTP_PORT: '0',
  };
});
afterEach(() => worker.close());

const NEWER = `the warehouse was migrated by safety-sync 9.9.9, and this is the older ${VERSION}`;
const ADVICE = 'Use that version of safety-sync, or a newer one';
const migrateByNewer = () =>
  worker.query(`insert into safety_sync.migrations (hash, created_at, program_version)
    values ('', 9000000000000, '9.9.9')`);
/** As the warehouse was before runs had a version. */
const takeBack = async () => {
  for (const statement of [
    'drop view safety.freshness',
    'drop table safety_sync.account_changes',
    'drop index safety.followups_closed_again_idx',
    'alter table safety_sync.stream_state drop column read_parts',
    'alter table safety_sync.backfill_slices drop column failures',
    'alter table safety_sync.runs drop column program_version',
    'delete from safety_sync.migrations where id > 20',
  ])
    await worker.query(statement);
};

test.each(['sync', 'reconcile', 'backfill', 'start', 'migrate', 'status', 'runs', 'report', 'check'])(
  'a newer schema: %s says both versions and ends with 2, and nothing is stored',
  async (verb) => {
    await migrateByNewer();
    const { code, stdout, stderr } = await runInProcess([verb], env);
    expect(`${stdout}${stderr}`).toContain(NEWER);
    expect(`${stdout}${stderr}`).toContain(ADVICE);
    expect(code).toBe(2);
    expect(
      await worker.query(`select (select count(*)::int from safety_sync.runs) as runs,
        (select count(*)::int from safety_sync.stream_state) as streams, (select count(*)::int from safety.followups) as rows`),
    ).toEqual([{ runs: 0, streams: 0, rows: 0 }]);
  },
);

test('a worker that runs when a newer program migrates stores nothing more and ends with 2', async () => {
  const running = startInProcess(['start'], { ...env, SYNC_CRON: '* * * * * *' });
  await running.untilStderr(/users: succeeded/);
  await migrateByNewer();
  const { followups } = worker.sandbox.store;
  followups.update([...followups.keys()][0] ?? '', { open: false, updated_on: Date.now() });
  const before = await rowVersions(worker);
  const { code, stderr } = await running.finished;
  expect(stderr).toContain(`database_newer: ${NEWER}`);
  expect(code).toBe(2);
  expect(await rowVersions(worker)).toEqual(before);
});

test('each run and each migration says by which version it was written', async () => {
  await takeBack();
  await worker.query(`insert into safety_sync.runs (account_id, stream, kind, trigger, status, owner)
    values ('default', 'users', 'sync', 'manual', 'succeeded', 'before')`);
  await migrateDatabase(worker.databaseUrl);
  expectSucceeded(await worker.run('resources'));
  expect(await worker.query('select stream, program_version from safety_sync.runs order by run_id')).toEqual([
    { stream: 'users', program_version: 'unknown' },
    { stream: 'resources', program_version: VERSION },
  ]);
  expect(
    await worker.query('select program_version from safety_sync.migrations order by created_at desc limit 1'),
  ).toEqual([{ program_version: VERSION }]);
});

test('a program that does not know the column cannot open a run', async () => {
  await expect(
    worker.query(`insert into safety_sync.runs (account_id, stream, kind, trigger, status, owner)
      values ('default', 'users', 'sync', 'manual', 'running', 'old')`),
  ).rejects.toThrow(/null value in column "program_version" .*\(23502\)/);
});

test('a run under way is ended by a migration, before it stores by what its program knows', async () => {
  await takeBack();
  const ofRun = openConnection({
    url: worker.databaseUrl,
    applicationName: 'safety-sync followups',
    max: 1,
    isSession: true,
  });
  await ofRun.query('begin');
  await migrateDatabase(worker.databaseUrl);
  await expect.poll(() => ofRun.isLost).toBe(true);
  await ofRun.close();
});

test('what an older program left wrong beside a newer one is right after the migration', async () => {
  const { followups } = worker.sandbox.store;
  expectSucceeded(await worker.run('followups'));
  for (const round of [1, 2, 3]) {
    for (const key of [...followups.keys()].slice(0, 20)) {
      const changed = { open: round % 2 === 0, due: 20270100 + round, updated_on: Date.now() };
      followups.update(key, changed);
    }
    expectSucceeded(await worker.run('followups'));
  }
  const figures = async () => ({
    followups:
      await worker.query(`select id, _message_count, _reassignment_count, _last_message_at, _first_response_at,
      _was_open, _due_moved, _due_before, _due_changes, _reopen_count from safety.followups order by id`),
    messages: await worker.query(
      'select followup_id, id, _handed_before from safety.followup_messages order by followup_id, id',
    ),
    states: await worker.query(
      'select id, valid_from, _was_open, _due_moved, _due_before from safety.followup_states order by id, valid_from',
    ),
  });
  const right = await figures();
  expect(right.followups).toContainEqual(expect.objectContaining({ _due_changes: 3, _reopen_count: 1 }));
  await takeBack();
  // An older program leaves the columns at their defaults and the figures as they were before its changes.
  await worker.query(`update safety.followups set _message_count = _message_count + 1, _last_message_at = null,
    _was_open = null, _due_moved = false, _due_before = null, _due_changes = 0, _reopen_count = 0`);
  await worker.query('update safety.followup_messages set _handed_before = null');
  await worker.query(
    'update safety.followup_states set _was_open = null, _due_moved = false, _due_before = null',
  );
  expect(await figures()).not.toEqual(right);
  await migrateDatabase(worker.databaseUrl);
  expect(await figures()).toEqual(right);
});
