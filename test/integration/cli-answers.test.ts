/** The output of verbs about a warehouse in use, in words and as JSON. */
import { expect, test } from 'vitest';
import { STREAM_NAMES } from '../../src/engine/streams/index.ts';
import { createCliFixture } from '../support/cli-fixture.ts';
import { forEachTest } from '../support/lifetime.ts';

const fixture = forEachTest(() => createCliFixture());
const run = (args: readonly string[]) => fixture.run(args, { LOG_LEVEL: 'silent', RETRY_ATTEMPTS: '0' });

type Rows = readonly Readonly<Record<string, unknown>>[];

async function runsOf(args: readonly string[]): Promise<Rows> {
  return (JSON.parse((await run([...args, '--json'])).stdout) as { runs: Rows }).runs;
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

test('reconcile says what an earlier sync should have stored, and not what has changed since', async () => {
  const { followups } = fixture.sandbox.store;
  await run(['sync', 'followups']);
  const now = Date.now();
  followups.put({ id: 'new', created_on: now, updated_on: now });
  followups.delete([...followups.keys()][0] ?? '');
  const sweep = async () => (await run(['reconcile', 'followups'])).stdout;
  const repaired = async () => (await runsOf(['runs', '--limit', '1']))[0]?.['repaired'];
  expect(await sweep()).toContain('\nfollowups: no sync had missed anything\n');
  expect(await repaired()).toBe(0);
  const [lost] = [...followups.entries()].toSorted(([, a], [, b]) => a.updated_on - b.updated_on);
  await fixture.query(`delete from safety.followups where id = '${lost?.[0] ?? ''}'`);
  expect(await sweep()).toContain('\nfollowups: repaired 1 that no sync had brought: ');
  expect(await repaired()).toBe(1);
});
