/** The output of verbs about a warehouse in use, in words and as JSON. */
import { describe, expect, test } from 'vitest';
import { STREAM_NAMES } from '../../src/engine/streams/index.ts';
import { createCliFixture } from '../support/cli-fixture.ts';
import type { CliEnvironment } from '../support/cli.ts';
import { runInProcess } from '../support/in-process.ts';
import { forEachTest } from '../support/lifetime.ts';

const fixture = forEachTest(() => createCliFixture());
const run = (args: readonly string[], more: CliEnvironment = {}) =>
  fixture.run(args, { LOG_LEVEL: 'silent', RETRY_ATTEMPTS: '0', ...more });

type Rows = readonly Readonly<Record<string, unknown>>[];

async function runsOf(args: readonly string[], more?: CliEnvironment): Promise<Rows> {
  return (JSON.parse((await run([...args, '--json'], more)).stdout) as { runs: Rows }).runs;
}

test('in JSON output the run_id of sync is that of runs, and every time is ISO 8601 in UTC', async () => {
  fixture.sandbox.store.followups.put({ id: 'bad-time', created_on: 'yesterday', updated_on: 5 });
  const synced = await runsOf(['sync']);
  const history = await runsOf(['runs']);
  const idsOf = (runs: Rows) => new Map(runs.map((row) => [row['stream'], row['run_id']]));
  expect(synced).toHaveLength(STREAM_NAMES.length);
  expect(idsOf(synced)).toEqual(idsOf(history));
  for (const verb of ['status', 'runs', 'data-issues']) {
    const { stdout } = await run([verb, '--json']);
    expect(stdout).toMatch(/"\w+_at":"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z"/);
    expect(stdout).not.toMatch(/"\d{4}-\d\d-\d\d \d\d:\d\d/);
  }
});

describe('reconcile', () => {
  const NOTE =
    ' (what changed lately was read first and once more with everything else: read and unchanged count it twice)';
  const followups = () => fixture.sandbox.store.followups;
  const sweep = async () => (await run(['reconcile', 'followups'])).stdout;
  const repaired = async () => (await runsOf(['runs', '--limit', '1']))[0]?.['repaired'];

  test('reconcile reports changes since the last sync as new, changed or gone, and not as repairs', async () => {
    expect((await run(['reconcile', 'resources'])).stdout).toContain('\nresources: 25 new\n');
    await run(['sync', 'followups']);
    expect(await sweep()).toContain(
      `\nfollowups: everything was in step; no sync had missed anything${NOTE}\n`,
    );
    const [first, second, third] = [...followups().keys()];
    const now = Date.now();
    followups().update(first ?? '', { updated_on: now, due_date: 20300101 });
    followups().update(second ?? '', { updated_on: now, due_date: 20300101 });
    followups().put({ id: 'new', created_on: now, updated_on: now });
    followups().delete(third ?? '');
    expect(await sweep()).toContain(
      `\nfollowups: 1 new, 2 changed, 1 gone at the source since the last sync; no sync had missed anything${NOTE}\n`,
    );
    expect(await repaired()).toBe(0);
    expect((await run(['reconcile', 'resources'])).stdout).toContain('\nresources: everything was in step\n');
  });

  test('reconcile reports a record that an earlier sync should have stored as a repair', async () => {
    await run(['sync', 'followups']);
    const [lost] = [...followups().entries()].toSorted(([, a], [, b]) => a.updated_on - b.updated_on);
    await fixture.query(`delete from safety.followups where id = '${lost?.[0] ?? ''}'`);
    expect(await sweep()).toContain(
      `\nfollowups: 1 new since the last sync; 1 of them an earlier sync should have brought: repaired now, please report this${NOTE}\n`,
    );
    expect(await repaired()).toBe(1);
  });
});

test('runs prints remarks in full length into a pipe, and shortens them to the width of a terminal', async () => {
  const reason = `the worker ${'of a host with a long name '.repeat(4)}ended`;
  await fixture.query(
    `insert into safety_sync.stream_state (account_id, stream) values ('default', 'users')`,
  );
  await fixture.query(`insert into safety_sync.runs (account_id, stream, kind, trigger, status, owner, program_version, finished_at, error_code, error_message)
    values ('default', 'users', 'sync', 'manual', 'failed', 'test', '1.0.0', now(), 'worker_died', '${reason}')`);
  expect((await run(['runs'])).stdout).toContain(`worker_died: ${reason}\n`);
  const { stdout } = await runInProcess(['runs'], fixture.env, { width: 150 });
  expect(stdout).toMatch(/ {2}worker_died: the worker of .*…\n/);
  for (const line of stdout.split('\n')) expect(line.length).toBeLessThanOrEqual(150);
});

test('sync shows its progress on a terminal, but not with --json', async () => {
  const env = { ...fixture.env, LOG_FORMAT: 'pretty' };
  const sync = async (...more: string[]) =>
    (await runInProcess(['sync', 'resources', ...more], env, { isInteractive: true })).stderr;
  expect(await sync('--json')).not.toContain('reading records');
  expect(await sync()).toContain('reading records: resources');
});
