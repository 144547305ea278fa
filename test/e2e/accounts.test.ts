import { beforeEach, describe, expect, it } from 'vitest';
import { createSandbox } from '../../src/sandbox/index.ts';
import { entryFor, writeAccountsFile } from '../support/accounts-file.ts';
import { type CliEnvironment, parseLog } from '../support/cli.ts';
import { createCliFixture } from '../support/cli-fixture.ts';
import { forEachTest } from '../support/lifetime.ts';
import { SMALL_SANDBOX } from '../support/worker.ts';

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

describe('several accounts', () => {
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

    const { runs: swept } = await json('reconcile', 'resources');
    expect(swept).toMatchObject([
      { account_id: 'north', stream: 'resources', unchanged: 25 },
      { account_id: 'south', stream: 'resources', unchanged: 7 },
    ]);
    const { plan } = await json('backfill', 'followups', '--plan');
    expect(namesOf(plan)).toEqual(['north', 'south']);
    expect((await run('backfill', 'followups')).stdout).toMatch(/^south +followups +succeeded/m);

    const { accounts } = await json('status');
    expect(accounts).toMatchObject([
      {
        account_id: 'north',
        streams: expect.arrayContaining([
          expect.objectContaining({ stream: 'resources', live_rows: 25 }),
        ]) as unknown,
      },
      {
        account_id: 'south',
        streams: expect.arrayContaining([
          expect.objectContaining({ stream: 'resources', live_rows: 7 }),
        ]) as unknown,
      },
    ]);
    expect((await run('status')).stdout).toMatch(/^south +resources +fresh/m);
    const { runs } = await json('runs');
    expect(namesOf(runs).sort()).toEqual(['north', 'south']);
    const ids = runs?.map(({ run_id: id }) => Number(id)) ?? [];
    expect(ids).toEqual([...ids].sort((one, other) => other - one));
    expect((await run('runs', '--limit', '1')).stdout.trimEnd().split('\n')).toHaveLength(2);
    const { checks } = await json('check');
    expect(namesOf(checks)).toEqual([undefined, 'north', 'south']);
    expect((await run('check')).stdout).toMatch(
      /^ok {4}south: service: resources\.list: responds, 7 records, as many as the warehouse has$/m,
    );
    expect((await run('migrate')).code).toBe(0);
    expect((await run('data-issues')).stdout).toBe('No open data issues.\n');
    const undecided = await run('report', '--json');
    expect(undecided.stderr).toContain(
      'a report is of one account, there are 2: choose one with --account (north, south)',
    );
    expect(undecided.code).toBe(2);
    expect(await json('report', '--account', 'south')).toMatchObject({ account_id: 'south' });
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

  it('data-issues lists the issues of each account, and --retry runs the selected account only', async () => {
    await run('sync', 'resources');
    await fixture.query(
      `insert into safety_sync.data_issues (account_id, stream, fingerprint, kind, problem)
       values ('north', 'resources', 'x', 'unknown_field', 'n'), ('south', 'resources', 'x', 'unknown_field', 's')`,
    );
    const { data_issues: issues } = await json('data-issues');
    expect(namesOf(issues)).toEqual(['north', 'south']);
    expect((await run('data-issues')).stdout).toMatch(/^account +stream +what/);
    expect((await run('data-issues', '--account', 'south', '--retry')).code).toBe(0);
    const retried = await fixture.query(
      `select account_id from safety_sync.runs order by run_id desc limit 1`,
    );
    expect(retried).toEqual([{ account_id: 'south' }]);
  });

  it('a refused token fails its account only, and the exit code is 3', async () => {
    south.access.set('inactive');
    const { code, stdout } = await run('sync', 'resources');
    expect(stdout).toMatch(/^north +resources +succeeded/m);
    expect(stdout).toMatch(/^south +resources +failed/m);
    expect(stdout).toMatch(/^ {2}south resources: /m);
    expect(code).toBe(3);
    const advice = 'have a new one issued and replace token of the entry south in SAFETY_ACCOUNTS_FILE.';
    expect(stdout).toContain(advice);
    const check = await run('check');
    expect(check.stdout).toContain(advice);
    expect(check.code).toBe(3);
    expect((await run('status')).stdout).toContain(advice);
    expect((await run('sync', 'resources', '--account', 'north')).code).toBe(0);
  });

  it('if a stream of one account fails, the other account is synced and the exit code is 1', async () => {
    south.faults.next(
      ({ method }) => method === 'resources.list',
      { kind: 'error', error: 'parameter_invalid' },
      10,
    );
    const { code, stdout } = await run('sync', 'resources');
    expect(stdout).toMatch(/^north +resources +succeeded/m);
    expect(code).toBe(1);
  });

  it('an unknown account name and an invalid accounts file are reported before any request', async () => {
    const unknown = await run('sync', '--account', 'west');
    expect(unknown.stderr).toContain('--account: no account is named west; there are north, south');
    expect(unknown.code).toBe(2);
    const bad = await writeAccountsFile([
      { name: 'x y', base_url: 'https://a.example', token: 'canary token' },
    ]);
    const { code, stderr } = await fixture.run(['start'], { ...env, SAFETY_ACCOUNTS_FILE: bad });
    expect(stderr).toContain('SAFETY_ACCOUNTS_FILE, entry 1, name: expected 1 to 100 letters');
    expect(stderr).toContain('SAFETY_ACCOUNTS_FILE, entry 1, token: expected an API token');
    expect(stderr).not.toContain('canary');
    expect(code).toBe(2);
    expect(fixture.sandbox.requests).toEqual([]);
  });
});
