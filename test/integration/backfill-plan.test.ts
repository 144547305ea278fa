import { expect, test } from 'vitest';
import { createCliFixture } from '../support/cli-fixture.ts';
import { SMALL_SANDBOX } from '../support/world.ts';
import { forEachTest, untilTestEnds } from '../support/lifetime.ts';

const fixture = forEachTest(() => createCliFixture());
const run = (...args: string[]) => fixture.run(args);

test('backfill --plan creates no schema in an empty database', async () => {
  const empty = untilTestEnds(
    await createCliFixture({ isEmpty: true, sandbox: { size: { ...SMALL_SANDBOX, followups: 130 } } }),
  );
  const { code, stdout } = await empty.run(['backfill', '--plan']);
  expect(stdout).toMatch(/^resources +the whole list +–$/m);
  expect(stdout).toMatch(/^followups +130 +2$/m);
  expect(stdout).toContain('Nothing was written to the warehouse.');
  expect(code).toBe(0);
  const schemas = await empty.query(`select nspname from pg_namespace where nspname like 'safety%'`);
  expect(schemas).toEqual([]);
});

test('backfill --plan changes no row of a warehouse in use', async () => {
  expect((await run('sync', 'followups', 'resources')).code).toBe(0);
  const marks = () =>
    fixture.query(`select (select max(run_id) from safety_sync.runs) as run, (select count(*) from safety_sync.backfill_slices) as slices,
        (select string_agg(s::text, ' ' order by stream) from safety_sync.stream_state s) as state`);
  const before = await marks();
  for (const args of [[], ['--restart']])
    expect((await run('backfill', 'followups', '--plan', '--json', ...args)).code).toBe(0);
  expect(await marks()).toEqual(before);
});
