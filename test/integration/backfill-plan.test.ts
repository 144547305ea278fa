import { describe, expect, test } from 'vitest';
import { createCliFixture } from '../support/cli-fixture.ts';
import { forEachTest, untilTestEnds } from '../support/lifetime.ts';

const fixture = forEachTest(() => createCliFixture());
const run = (...args: string[]) => fixture.run(args);

interface Plan {
  readonly plan: readonly {
    readonly records: number;
    readonly records_done: number | null;
    readonly requests: number;
  }[];
}

async function plan(...args: string[]): Promise<Plan> {
  const { code, stdout } = await run('backfill', 'followups', '--plan', '--json', ...args);
  expect(code).toBe(0);
  return JSON.parse(stdout) as Plan;
}

describe('backfill --plan', () => {
  test('backfill --plan creates no schema in an empty database, and reports that it is not migrated', async () => {
    const empty = untilTestEnds(await createCliFixture({ isEmpty: true }));
    const { code, stdout } = await empty.run(['backfill', '--plan']);
    expect(stdout).toBe(`resources: a full re-read
followups: 130 records, about 2 requests
training-employee-status: a full re-read
equipments: a full re-read
completed-trainings: a full re-read
names: a full re-read
users: a full re-read
The warehouse is not migrated. The backfill migrates first.
Nothing was written to the warehouse. Leave out --plan to do it.
`);
    expect(code).toBe(0);
    const schemas = await empty.query(`select nspname from pg_namespace where nspname like 'safety%'`);
    expect(schemas).toEqual([]);
  });

  test('backfill --plan changes no row of a warehouse in use', async () => {
    expect((await run('sync')).code).toBe(0);
    const marks = () =>
      fixture.query(`select (select max(run_id) from safety_sync.runs) as run, (select count(*) from safety_sync.backfill_slices) as slices,
        (select string_agg(s::text, ' ' order by stream) from safety_sync.stream_state s) as state`);
    const before = await marks();
    await plan();
    await plan('--restart');
    expect(await marks()).toEqual(before);
  });

  test('the plan of an interrupted backfill counts only the remaining records, unless --restart or --from is given', async () => {
    expect((await run('backfill', 'followups')).code).toBe(0);
    await fixture.query(`update safety_sync.backfill_slices set status = 'pending', records = 30`);
    await fixture.query(
      `update safety_sync.stream_state set backfill_watermark = now() where stream = 'followups'`,
    );
    expect((await plan()).plan[0]).toMatchObject({ records: 100, records_done: 30, requests: 2 });
    expect((await plan('--restart')).plan[0]).toMatchObject({ records: 130, records_done: null });
    expect((await plan('--from', '2020-01-01')).plan[0]).toMatchObject({ records_done: null });
  });
});
