import { describe, expect, test } from 'vitest';
import { entryFor, writeAccountsFile } from '../support/accounts-file.ts';
import { createCliFixture } from '../support/cli-fixture.ts';
import { forEachTest, untilTestEnds } from '../support/lifetime.ts';

const fixture = forEachTest(() => createCliFixture());
const run = (...args: string[]) => fixture.run(args);

interface Plan {
  readonly pending_migrations: number;
  readonly plan: readonly {
    readonly records: number;
    readonly slices_done: number | null;
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
    expect(stdout).toBe(`resources: an unknown number of records, a full re-read, about 1 request
followups: 130 records, 1 slice, about 1 request
training-employee-status: an unknown number of records, a full re-read
equipments: an unknown number of records, a full re-read, about 4 requests
completed-trainings: an unknown number of records, a full re-read
names: an unknown number of records, a full re-read
users: an unknown number of records, a full re-read
The warehouse is not migrated: it has none of the tables. The backfill migrates first.
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

  test('if all slices of a backfill are stored and only its end is missing, the plan has the requests that the next run sends', async () => {
    expect((await run('backfill', 'followups')).code).toBe(0);
    // As a worker leaves it that is killed between its last slice and the end of its run.
    await fixture.query(
      `update safety_sync.stream_state set watermark = null, backfill_watermark = now() where stream = 'followups'`,
    );
    expect(await plan()).toEqual({
      plan: [{ stream: 'followups', records: 0, slices: 1, slices_done: 1, requests: 1 }],
      pending_migrations: 0,
    });
    fixture.sandbox.requests.length = 0;
    expect((await run('backfill', 'followups')).code).toBe(0);
    const lists = fixture.sandbox.requests.filter(({ method }) => method === 'followups.list');
    expect(lists.map(({ params }) => params['limit'])).toEqual([1]);
    // Now it is closed: another one begins from the start, and its plan shows that.
    expect((await plan()).plan[0]).toMatchObject({ records: 130, slices_done: null });
  });

  test('if the service refuses one of several accounts, the plan contains the others and reports the refusal', async () => {
    const path = await writeAccountsFile([
      entryFor('north', fixture.sandbox, { token: 'wrong-token' }),
      entryFor('south', fixture.sandbox),
    ]);
    const { code, stdout } = await fixture.run(['backfill', '--plan', 'followups', '--json'], {
      SAFETY_ACCOUNTS_FILE: path,
    });
    expect(code).toBe(3);
    const { plan: planned, failed } = JSON.parse(stdout) as Record<'plan' | 'failed', object[]>;
    expect(planned).toMatchObject([{ account_id: 'default' }, { account_id: 'south', records: 130 }]);
    expect(failed).toMatchObject([{ account_id: 'north', stream: 'followups', code: 'token_invalid' }]);
  });

  test('the plan of an interrupted backfill counts only the remaining records, unless --restart or --from is given', async () => {
    expect((await run('backfill', 'followups')).code).toBe(0);
    await fixture.query(`update safety_sync.backfill_slices set status = 'pending', records = 30`);
    await fixture.query(
      `update safety_sync.stream_state set backfill_watermark = now() where stream = 'followups'`,
    );
    expect((await plan()).plan[0]).toMatchObject({ records: 100, slices_done: 0, requests: 3 });
    expect((await plan('--restart')).plan[0]).toMatchObject({ records: 130, slices_done: null });
    expect((await plan('--from', '2020-01-01')).plan[0]).toMatchObject({ slices_done: null });
  });
});
