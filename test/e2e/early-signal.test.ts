import { expect, it } from 'vitest';
import { createCliFixture } from '../support/cli-fixture.ts';
import { forEachTest } from '../support/lifetime.ts';
import { inProof } from '../support/proof.ts';
import { connectForTest } from '../support/test-database.ts';

const fixture = forEachTest(() => createCliFixture());

inProof(() => {
  it('a SIGTERM during a statement ends start with 0, its run as interrupted, its statement and its lock', async () => {
    const blocker = connectForTest(fixture.databaseUrl);
    await blocker.query('begin');
    await blocker.query('lock table safety.resources');
    const worker = fixture.cli.start(['start'], fixture.env);
    const waiting = `select from pg_stat_activity where wait_event_type = 'Lock' and application_name like 'safety-sync%'
      and datname = current_database() and query_start < clock_timestamp() - interval '1 second'`;
    await expect.poll(() => fixture.query(waiting)).not.toEqual([]);
    const startedMs = performance.now();
    worker.kill('SIGTERM');
    expect((await worker.finished).code).toBe(0);
    expect(performance.now() - startedMs).toBeLessThan(7000);
    expect(await fixture.query(waiting)).toEqual([]);
    const runs = `select status, error_code from safety_sync.runs where stream = 'resources'`;
    expect(await fixture.query(runs)).toEqual([{ status: 'failed', error_code: 'interrupted' }]);
    const locks = `select from pg_locks join pg_database d on d.oid = database
      where locktype = 'advisory' and datname = current_database()`;
    await expect.poll(() => fixture.query(locks)).toEqual([]);
  });
});

it('a second signal ends a sync at once, and the next sync closes the open run', async () => {
  fixture.sandbox.faults.next(() => true, { kind: 'hang' });
  const running = fixture.cli.start(['sync', 'resources'], fixture.env);
  await expect.poll(() => fixture.sandbox.requests.filter(({ fault }) => fault === 'hang').length).toBe(1);
  // The ledger of runs is locked, so the first signal has no effect yet.
  const blocker = connectForTest(fixture.databaseUrl);
  await blocker.query('begin');
  await blocker.query('lock table safety_sync.runs');
  running.kill('SIGINT');
  const waiting = `select from pg_locks where not granted and relation = 'safety_sync.runs'::regclass`;
  await expect.poll(() => fixture.query(waiting)).toHaveLength(1);
  running.kill('SIGINT');
  expect(await running.finished).toMatchObject({ code: 130 });
  await blocker.query('rollback');
  const runs = () => fixture.query('select status, error_code from safety_sync.runs order by run_id');
  expect(await runs()).toMatchObject([{ status: 'running' }]);
  const next = await fixture.run(['sync', 'resources']);
  expect(next.code).toBe(0);
  expect(await runs()).toEqual([
    { status: 'failed', error_code: 'worker_died' },
    { status: 'succeeded', error_code: null },
  ]);
});
