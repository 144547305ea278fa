/** The view safety.freshness, as safety_reader sees it. */
import { expect, test } from 'vitest';
import { openStreamState } from '../../src/engine/control-tables/stream-state.ts';
import { STREAM_NAMES } from '../../src/engine/streams/index.ts';
import { readAccounts } from '../../src/operate/status/read-accounts.ts';
import { forAllTests } from '../support/lifetime.ts';
import { createTestWorker, expectSucceeded } from '../support/world.ts';

const worker = forAllTests(() => createTestWorker({ sandbox: { seed: 3 } }));
interface FreshnessRow extends Record<string, unknown> {
  readonly account_id: string;
  readonly stream: string;
  readonly last_status: string | null;
  readonly has_succeeded: boolean;
  readonly is_exact: boolean;
}

/** As BI reads. */
async function readFreshness(): Promise<FreshnessRow[]> {
  return await worker.connection.db.transaction(async (tx) => {
    await tx.execute('set local role safety_reader');
    const rows = await tx.execute<FreshnessRow>(
      `select account_id, stream, last_status, last_success_at is not null as has_succeeded,
         age_seconds = floor(extract(epoch from now() - last_success_at)) as is_exact
       from safety.freshness where account_id = 'default' order by stream`,
    );
    return [...rows];
  });
}

const lastStatus = async () =>
  (await readFreshness()).find(({ stream }) => stream === 'resources')?.last_status;

/** A run of resources. */
async function addRun(status: string, requests: number): Promise<void> {
  const ended = status === 'running' ? 'null' : 'now()';
  // As every run that begins does.
  if (status !== 'skipped')
    await openStreamState(worker.connection.db, { accountId: 'default', stream: 'resources' });
  await worker.query(
    `insert into safety_sync.runs (account_id, stream, kind, trigger, status, requests, finished_at, owner, program_version)
     values ('default', 'resources', 'sync', 'manual', '${status}', ${requests}, ${ended}, 'test', '1.0.0')`,
  );
}

test('safety.freshness shows a reader the last success, the last status and the completeness of every stream', async () => {
  expect(await readFreshness()).toEqual([]);
  await worker.syncAll();
  expect(await readFreshness()).toEqual(
    STREAM_NAMES.toSorted().map((stream) => ({
      account_id: 'default',
      stream,
      last_status: 'succeeded',
      has_succeeded: true,
      is_exact: true,
    })),
  );
  const differing = await worker.query(
    `select f.stream from safety.freshness f join safety_sync.stream_state s using (account_id, stream)
     left join lateral (select finished_at from safety_sync.runs r
       where r.account_id = f.account_id and r.stream = f.stream order by run_id desc limit 1) r on true
     where f.last_success_at <> s.last_success_at or f.last_finished_at <> r.finished_at
       or f.complete_until is distinct from s.complete_until or f.complete_until is null
       or f.as_of is distinct from case f.stream when 'followups' then s.watermark
         when 'training-employee-status' then s.calculated_at else s.last_success_at end`,
  );
  expect(differing).toEqual([]);
});

test('a backfill of a past range does not make the stream fresher, because it reads nothing of today', async () => {
  const readSuccess = async () =>
    await worker.query(
      `select last_success_at::text, counted_to::text from safety_sync.stream_state
       join safety.counted_days using (account_id, stream) where account_id = 'default' and stream = 'followups'`,
    );
  await worker.query(
    `update safety_sync.stream_state set last_success_at = statement_timestamp() - interval '3 days'`,
  );
  await worker.query(`update safety.counted_days set counted_to = counted_to - 3`);
  const before = await readSuccess();
  const range = { fromMs: 0, toMs: Date.parse('2020-01-01') };
  expectSucceeded(await worker.run('followups', { kind: 'backfill', range }));
  expect(await readSuccess()).toEqual(before);
  expectSucceeded(await worker.run('followups', { kind: 'backfill' }));
  expect(await readSuccess()).not.toEqual(before);
});

test('a failed run remains the last status after a skipped run and a retry of issues, until a run with requests succeeds', async () => {
  await addRun('failed', 8);
  await addRun('skipped', 0);
  await addRun('succeeded', 0);
  await addRun('running', 0);
  expect(await lastStatus()).toBe('failed');
  await addRun('succeeded', 1);
  expect(await lastStatus()).toBe('succeeded');
});

test('a stream is failing since the first failure after its last success', async () => {
  for (const requests of [1, 8]) await addRun('failed', requests);
  const [first] = await worker.query<{ ms: number }>(
    `select floor(extract(epoch from started_at) * 1000)::float8 as ms from safety_sync.runs where status = 'failed' and requests = 1`,
  );
  const { accounts } = await readAccounts(worker.connection, ['default']);
  const facts = accounts.get('default')?.streams.find(({ stream }) => stream === 'resources');
  expect(facts).toMatchObject({ failingWith: 'internal_error', failingSinceMs: first?.ms });
});
