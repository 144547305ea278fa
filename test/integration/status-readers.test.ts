import { describe, expect, it } from 'vitest';
import { readAccounts } from '../../src/operate/status/read-accounts.ts';
import { closeDeadRuns, describeOpenRun, readRuns } from '../../src/engine/control-tables/runs.ts';
import { openStreamState } from '../../src/engine/control-tables/stream-state.ts';
import type { StreamName } from '../../src/engine/streams/stream.ts';
import { startAppFixture } from '../support/app-fixture.ts';
import { createGate } from '../support/gate.ts';
import { startHookServer } from '../support/hook-server.ts';
import { runInProcess } from '../support/in-process.ts';
import { forEachTest, untilTestEnds } from '../support/lifetime.ts';
import { openFreeStream } from '../support/open-stream.ts';
import { connectForTest, createRole } from '../support/test-database.ts';
import { createSyncedWorker, createTestWorker, type TestWorker } from '../support/world.ts';
import { inProof } from '../support/proof.ts';
import { HARNESSES } from '../support/equipment-types.ts';

const NEVER = '0 0 1 1 *';

const worker = forEachTest(() => createTestWorker());

/** The last run of a stream, as `status` shows it, and whether one is under way. */
async function lastRun(name: string) {
  const { accounts } = await readAccounts(worker.connection, ['default']);
  const last = await readRuns(worker.connection.db, ['default']);
  const run = last.find(({ stream }) => stream === name);
  const facts = accounts.get('default')?.streams.find(({ stream }) => stream === name);
  return [run?.status, run?.error_code, facts?.isRunning];
}

const statusEnv = (of: TestWorker = worker) => ({
  DATABASE_URL: of.databaseUrl,
  SAFETY_EQUIPMENT_TYPES: HARNESSES,
});

async function insertOpenRun(stream: StreamName, backendPid = 99999, of: TestWorker = worker): Promise<void> {
  await openStreamState(of.connection.db, { accountId: 'default', stream });
  await of.query(`insert into safety_sync.runs (account_id, stream, kind, trigger, status, owner, program_version, backend_pid)
    values ('default', '${stream}', 'sync', 'schedule', 'running', 'host pid 9', '1.0.0', ${backendPid})`);
}

it('a run that is skipped because its stream is locked does not hide the last failure', async () => {
  worker.sandbox.access.set('inactive');
  expect((await worker.run('resources')).outcome).toBe('failed');
  const session = await openFreeStream(worker.databaseUrl, 'resources');
  expect((await worker.run('resources', { trigger: 'schedule' })).outcome).toBe('skipped');
  await session.close();
  expect(await lastRun('resources')).toEqual(['failed', 'token_inactive', false]);
  const all = await readRuns(worker.connection.db, ['default'], { limit: 10 });
  // A skipped tick leaves no row.
  expect(all.map(({ status, trigger }) => `${trigger} ${status}`)).toEqual(['manual failed']);
});

describe('a failure behind a run that decides nothing', () => {
  it('status names the failure that causes its exit code while a new run is active, and after a run that was stopped', async () => {
    const synced = untilTestEnds(await createSyncedWorker());
    await synced.query(`insert into safety_sync.runs (account_id, stream, kind, trigger, status, owner, program_version, error_code, finished_at, backend_pid)
      select 'default', 'resources', 'sync', 'schedule', 'failed', 'test', '1.0.0', code, now(), 1
      from unnest(array['server_error', 'interrupted']) code`);
    const read = async () => {
      const { stdout, code } = await runInProcess(['status'], statusEnv(synced));
      expect(code).toBe(1);
      return stdout;
    };
    const failure = /^Documents fail \(server_error\)\. The service failed by itself/m;
    expect(await read()).toMatch(failure);
    const { backendPid } = await openFreeStream(synced.databaseUrl, 'resources');
    await insertOpenRun('resources', backendPid, synced);
    const said = await read();
    expect(said).toMatch(/^resources +fresh .* running for/m);
    expect(said).toMatch(failure);
  });

  it('status calls a stream without a schedule not stale', async () => {
    await worker.run('resources');
    await worker.query(`update safety_sync.stream_state set last_success_at = now() - interval '1 day'`);
    const { stdout, code } = await runInProcess(['status'], { ...statusEnv(), SYNC_CRON: 'off' });
    expect(stdout).toMatch(/^resources +not scheduled .* 1 d ago$/m);
    expect(code).toBe(0);
  });
});

describe('a run whose worker died', () => {
  it('an open run without a session is shown as failed with worker_died', async () => {
    await insertOpenRun('followups');
    expect(await lastRun('followups')).toEqual(['failed', 'worker_died', false]);
  });

  it('an open run is closed if its session has ended, and stays running if it has not', async () => {
    await insertOpenRun('followups');
    const { backendPid } = await openFreeStream(worker.databaseUrl, 'resources');
    await insertOpenRun('resources', backendPid);
    expect(await lastRun('resources')).toEqual(['running', null, true]);
    await closeDeadRuns(worker.connection.db, ['default', 'other']);
    expect(
      await worker.query('select stream, status, error_code from safety_sync.runs order by run_id'),
    ).toEqual([
      { stream: 'followups', status: 'failed', error_code: 'worker_died' },
      { stream: 'resources', status: 'running', error_code: null },
    ]);
  });

  it('a role that may only read closes no run, and reads the rest', async () => {
    await insertOpenRun('followups');
    const role = await createRole(worker.connection);
    await worker.query(`grant usage on schema safety, safety_sync to ${role};
      grant select on all tables in schema safety, safety_sync to ${role}; set role ${role}`);
    const shown = lastRun('followups').finally(() => worker.query('reset role'));
    expect(await shown).toEqual(['running', null, true]);
  });

  it('an open run of a dead worker is closed when a worker starts, before its stream runs again', async () => {
    const synced = untilTestEnds(await createSyncedWorker());
    await insertOpenRun('equipments', undefined, synced);
    await startAppFixture(synced, { env: { SYNC_CRON: NEVER } });
    await expect
      .poll(() => synced.query(`select error_code from safety_sync.runs where owner = 'host pid 9'`))
      .toEqual([{ error_code: 'worker_died' }]);
  });
});

inProof(() => {
  it('a run that waits for a table lock of another session names that session in the status', async () => {
    await worker.runAll({ force: true });
    const session = connectForTest(worker.databaseUrl, { applicationName: 'a BI tool', isSession: true });
    await session.query('begin; lock table safety.resources in share mode');
    const { store } = worker.sandbox;
    store.resources.update([...store.resources.keys()][0] ?? '', { title: 'changed' });
    const waiting = worker.run('resources', { force: true });
    await expect
      .poll(async () => (await runInProcess(['status'], statusEnv())).stdout)
      .toMatch(/\nRuns of documents are held up: role \w+ \(a BI tool, pid \d+\), which locks a table/);
    await session.query('rollback');
    expect((await waiting).outcome).toBe('succeeded');
    await session.close();
  });
});

it('a run that waits for a stream names the run that has it', async () => {
  const key = { accountId: 'default', stream: 'resources' } as const;
  expect(await describeOpenRun(worker.connection.db, key)).toBe('another run');
  await insertOpenRun('resources');
  expect(await describeOpenRun(worker.connection.db, key)).toMatch(/^run \d+ \(sync, host pid 9\)$/);
});

inProof(() => {
  it('a worker without equipment types is ready and sends its heartbeat', async () => {
    const hook = untilTestEnds(await startHookServer());
    const gate = createGate();
    worker.sandbox.readings.notOffered = ['equipmenttypes.list'];
    worker.sandbox.hooks.beforeResponse = ({ method }) =>
      method === 'account.info' ? undefined : gate.opened;
    const { url } = await startAppFixture(worker, {
      env: {
        SAFETY_EQUIPMENT_TYPES: '',
        SYNC_CRON: NEVER,
        RECONCILE_CRON: NEVER,
        ALERT_HEARTBEAT_URL: hook.url,
      },
      everyMs: 100,
    });
    await expect.poll(async () => (await fetch(`${url}/metrics`)).text()).toMatch(/running\{.*\} 1$/m);
    expect(hook.pings).toBe(0);
    gate.open();
    await expect.poll(() => hook.pings).toBe(1);
    await expect.poll(async () => (await fetch(`${url}/readyz`)).status).toBe(200);
    const status = (await (await fetch(`${url}/api/status`)).json()) as {
      streams: { stream: string; off_reason: string | null }[];
    };
    expect(status.streams.filter((one) => one.off_reason !== null)).toMatchObject([
      { stream: 'equipments', off_reason: 'no equipment types' },
    ]);
  });
});
