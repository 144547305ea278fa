import { beforeEach, expect, it } from 'vitest';
import { createSandbox } from '../../src/sandbox/index.ts';
import { entryFor, writeAccountsFile } from '../support/accounts-file.ts';
import { type CliEnvironment, parseLog } from '../support/cli.ts';
import { createCliFixture } from '../support/cli-fixture.ts';
import { forEachTest } from '../support/lifetime.ts';
import { SMALL_SANDBOX } from '../support/world.ts';

const fixture = forEachTest(() => createCliFixture());
const south = forEachTest(() => createSandbox({ size: { ...SMALL_SANDBOX, resources: 7 }, seed: 3 }));
let env: CliEnvironment;

beforeEach(async () => {
  env = {
    ...fixture.env,
    // In use, so that start ends at once.
    HTTP_PORT: new URL(south.url).port,
    SAFETY_BASE_URL: undefined,
    SAFETY_TOKEN: undefined,
    SAFETY_EQUIPMENT_TYPES: undefined,
    SAFETY_ACCOUNTS_FILE: await writeAccountsFile([
      entryFor('north', fixture.sandbox),
      entryFor('south', south),
    ]),
  };
});

const run = (...args: string[]) => fixture.run(args, env);
const json = async (...args: string[]) =>
  JSON.parse((await run(...args, '--json')).stdout) as Record<string, Record<string, unknown>[]>;
const namesOf = (rows: readonly Record<string, unknown>[] | undefined) => [
  ...new Set(rows?.map(({ account_id: name }) => name)),
];

it('the verbs process all accounts, and report requires --account', async () => {
  const synced = await run('sync', 'resources', 'followups');
  expect(synced.code).toBe(0);
  expect(synced.stdout).toMatch(/^account +stream +outcome/);
  expect(synced.stdout).toMatch(/^north +resources +succeeded +25 +25 /m);
  expect(synced.stdout).toMatch(/^south +resources +succeeded +7 +7 /m);
  expect(parseLog(synced.stderr)).toContainEqual(
    expect.objectContaining({
      account_id: 'south',
      stream: 'resources',
      msg: expect.stringMatching(/^south: resources: succeeded, 7 read/) as string,
    }),
  );

  const { plan } = await json('backfill', 'followups', '--plan');
  expect(namesOf(plan)).toEqual(['north', 'south']);
  const { accounts } = await json('status');
  const has = (rows: number): unknown =>
    expect.arrayContaining([expect.objectContaining({ stream: 'resources', live_rows: rows })]);
  expect(accounts).toMatchObject([
    { account_id: 'north', streams: has(25) },
    { account_id: 'south', streams: has(7) },
  ]);
  expect(namesOf((await json('runs'))['runs']).sort()).toEqual(['north', 'south']);
  expect(namesOf((await json('check'))['checks'])).toEqual([undefined, 'north', 'south']);
  const undecided = await run('report');
  expect([undecided.code, undecided.stderr]).toEqual([
    2,
    expect.stringContaining('choose one with --account (north, south)'),
  ]);
});

it('the output for one account of --account has the form of a single account', async () => {
  const before = fixture.sandbox.requests.length;
  const { runs } = await json('sync', 'resources', '--account', 'south');
  expect(runs).toMatchObject([{ stream: 'resources', outcome: 'succeeded', inserted: 7 }]);
  expect(fixture.sandbox.requests).toHaveLength(before);
  expect((await run('sync', 'resources', '--account', 'south')).stdout).toMatch(/^stream +outcome/);
  expect(await json('status', '--account', 'south')).toMatchObject({ account_id: 'south' });
  const both = await json('sync', 'resources', '--account', 'south', '--account', 'north');
  expect(namesOf(both['runs'])).toEqual(['north', 'south']);
});

it('a refused token fails its account only, and the exit code is 3', async () => {
  south.access.set('inactive');
  const { code, stdout } = await run('sync', 'resources');
  expect(stdout).toMatch(/^north +resources +succeeded/m);
  expect(stdout).toMatch(/^south +resources +failed/m);
  expect(stdout).toMatch(/^south resources: /m);
  expect(code).toBe(3);
  const advice =
    'have a new one issued and replace SAFETY_TOKEN, or token of the account in SAFETY_ACCOUNTS_FILE.';
  expect(stdout).toContain(advice);
  const check = await run('check');
  expect(check.stdout).toContain(advice);
  expect(check.code).toBe(3);
  expect((await run('status')).stdout).toContain(advice);
  expect((await run('sync', 'resources', '--account', 'north')).code).toBe(0);
});
