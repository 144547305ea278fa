import { beforeEach, describe, expect, it } from 'vitest';
import manifest from '../../package.json' with { type: 'json' };
import { buildProgram } from '../../src/cli/program.ts';
import { STREAM_NAMES } from '../../src/engine/streams/index.ts';
import { parseLog } from '../support/cli.ts';
import { createCliFixture } from '../support/cli-fixture.ts';
import { forAllTests } from '../support/lifetime.ts';

const VERBS = (await buildProgram(() => Promise.resolve())).commands.map((command) => command.name());

const fixture = forAllTests(() => createCliFixture());

beforeEach(() => {
  fixture.sandbox.requests.length = 0;
});

interface JsonRuns {
  runs: { stream: string; outcome: string; records_read: number; inserted: number; unchanged: number }[];
}

describe('usage', () => {
  it('--help lists every verb, the exit codes and the demo, and --version prints the version', async () => {
    const { code, stdout } = await fixture.run(['--help']);
    for (const verb of VERBS) expect(stdout).toMatch(new RegExp(`^  ${verb}\\b`, 'm'));
    expect(stdout).toContain('Exit codes:');
    expect(stdout).toMatch(/^ {2}129, 130, 143 {2}a second/m);
    expect(stdout).toContain('safety-sync demo');
    expect(code).toBe(0);
    expect(await fixture.run(['--version'])).toMatchObject({ code: 0, stdout: `${manifest.version}\n` });
  });

  it.each([
    { why: 'an unknown verb', args: ['synk'], says: 'Did you mean sync?' },
    { why: 'an unknown option', args: ['sync', '--nope'], says: "unknown option '--nope'" },
    {
      why: 'an unknown stream for runs',
      args: ['runs', '--stream', 'people'],
      says: 'no stream is named people',
    },
    {
      why: 'a range for a stream without a time filter',
      args: ['backfill', 'followups', 'users', '--from', '2026-01-01'],
      says: 'the service has no time filter for users;',
    },
    { why: 'no verb', args: [], says: 'Usage: safety-sync' },
  ])('a command line with $why exits with 2 and sends no request', async ({ args, says }) => {
    const { code, stdout, stderr } = await fixture.run(args);
    expect(stderr).toContain(says);
    expect(stdout).toBe('');
    expect(code).toBe(2);
    expect(fixture.sandbox.requests).toEqual([]);
  });
});

it('status shows every stream of an empty warehouse as never synced', async () => {
  const { code, stdout } = await fixture.run(['status']);
  for (const stream of STREAM_NAMES)
    expect(stdout).toMatch(new RegExp(`^${stream} +never synced .* never$`, 'm'));
  expect(code).toBe(1);
  const { streams } = JSON.parse((await fixture.run(['status', '--json'])).stdout) as { streams: object[] };
  expect(streams).toMatchObject(STREAM_NAMES.map((stream) => ({ stream })));
  expect(streams[1]).toEqual({
    stream: 'followups',
    is_scheduled: true,
    off_reason: null,
    freshness: 'never',
    last_success_at: null,
    current_until: null,
    watermark: null,
    calculated_at: null,
    live_rows: 0,
    deleted_rows: 0,
    open_data_issues: 0,
    last_run: null,
  });
});

describe('a sync', () => {
  it('sync --json stores all records, with only JSON on stdout and the log on stderr', async () => {
    fixture.sandbox.store.followups.put({ id: 'bad-time', created_on: 'yesterday', updated_on: 5 });
    const { code, stdout, stderr } = await fixture.cli.run(['sync', '--json'], fixture.env);
    const { runs } = JSON.parse(stdout) as JsonRuns;
    expect(runs.map(({ stream, outcome }) => [stream, outcome])).toEqual(
      STREAM_NAMES.map((stream) => [stream, 'succeeded']),
    );
    expect(runs[1]).toMatchObject({ records_read: 61, inserted: 61 });
    expect(parseLog(stderr).map(({ msg }) => msg)).toEqual(
      expect.arrayContaining([expect.stringContaining('followups: succeeded, 61 read, 61 inserted')]),
    );
    expect(code).toBe(0);
  });

  it('a second sync changes no row and prints its counts as a table', async () => {
    const { code, stdout } = await fixture.run(['sync', 'resources', 'equipments']);
    expect(stdout).toMatch(/^resources +succeeded +25 +0 +0 +0 +.* 25 +0 +1$/m);
    expect(stdout).toMatch(/^equipments +succeeded +30 +0 +0 +0 +.* 30 +0 +4$/m);
    expect(stdout).not.toContain('followups');
    expect(code).toBe(0);
  });

  it('if a stream fails, the exit code is 1 and the other streams are synced', async () => {
    const isResources = (entry: { method: string }) => entry.method === 'resources.list';
    fixture.sandbox.faults.next(isResources, { kind: 'error', error: 'parameter_unexpected' });
    const { code, stdout } = await fixture.run(['sync', 'resources', 'equipments']);
    expect(stdout).toMatch(/^resources +failed/m);
    expect(stdout).toMatch(/^equipments +succeeded/m);
    expect(stdout).toMatch(
      /^resources: .*\[request \w+\]\nparameter_unexpected: The service refuses a parameter /m,
    );
    expect(code).toBe(1);
  });

  it('refused credentials give exit code 3 after one request for the account and at most one for each stream', async () => {
    const { code, stdout } = await fixture.run(['sync'], { SAFETY_TOKEN: 'not-this-one' });
    expect(
      stdout.match(
        /^token_invalid: The service does not know this token; replace SAFETY_TOKEN, or token of the account in SAFETY_ACCOUNTS_FILE.$/gm,
      ),
    ).toHaveLength(1);
    expect(code).toBe(3);
    const asked = fixture.sandbox.requests.map(({ method }) => method).sort();
    expect(asked).toEqual([
      'account.info',
      'completedtrainings.v2.list',
      'equipments.list',
      'followups.list',
      'resources.list',
    ]);
  });
});

describe('a filled warehouse', () => {
  it('status shows the rows and the last failure of each stream', async () => {
    const { code, stdout } = await fixture.run(['status']);
    expect(stdout).toMatch(/^equipments +fresh +failed .* 30 +0 +0 /m);
    expect(stdout).toContain('The service refuses the credentials (token_invalid).');
    expect(code).toBe(1);
  });

  it('runs lists the requested number of runs, newest first', async () => {
    const { code, stdout } = await fixture.run(['runs', '--json', '--limit', '3', '--stream', 'resources']);
    const { runs } = JSON.parse(stdout) as {
      runs: { run_id: number; stream: string; error_code: string | null }[];
    };
    expect(runs.map(({ stream, error_code: error }) => [stream, error])).toEqual([
      ['resources', 'token_invalid'],
      ['resources', 'parameter_unexpected'],
      ['resources', null],
    ]);
    expect(code).toBe(0);
    const table = await fixture.run(['runs', '--limit', '2']);
    expect(table.stdout.trimEnd().split('\n')).toHaveLength(3);
    expect(table.code).toBe(0);
  });
});

describe('check', () => {
  it('check reports a refused token with advice', async () => {
    const { code, stdout } = await fixture.run(['check'], { SAFETY_TOKEN: 'not-this-one' });
    expect(stdout).toMatch(/^FAIL {2}service: resources\.list: .*token_invalid/m);
    expect(stdout).toContain('replace SAFETY_TOKEN');
    expect(fixture.sandbox.requests.map(({ method }) => method)).toEqual(['account.info', 'resources.list']);
    expect(code).toBe(3);
  });

  it('check and the first lines of start name a variable that is spelled almost like one of ours, and go on', async () => {
    const typed = {
      SYNC_CORN: '* * * * *',
      KUBERNETES_SERVICE_HOST: '10.0.0.1',
      SAFETY_TOKEN: 'not-this-one',
    };
    const said = 'not a variable of safety-sync, so without effect: SYNC_CORN (did you mean SYNC_CRON?)';
    expect((await fixture.run(['check'], typed)).stdout).toContain(`skip  configuration: ${said}\n`);
    const worker = fixture.start(['start'], typed);
    await worker.untilStderr(new RegExp(`"msg":"${said.replace(/[?()]/g, '\\$&')}"`));
    // Otherwise its requests would be counted in the next tests.
    worker.kill('SIGTERM');
    await worker.finished;
  });

  it('check tests the service although the database is unreachable', async () => {
    const env = { ...fixture.env, DATABASE_URL: 'postgres://somebody:else@127.0.0.1:1/nothing' };
    const { code, stdout } = await fixture.run(['check'], env);
    expect(stdout).toMatch(/^FAIL {2}database: .*ECONNREFUSED/m);
    expect(stdout).toMatch(/^ok {4}service: followups\.list: responds, 61 records$/m);
    expect(stdout).toMatch(/^1 of \d+ checks failed\.$/m);
    expect(code).toBe(1);
  });

  it('check says of a list of types that fails that it fails, and not that types have to be configured', async () => {
    const isOfTypes = ({ method }: { readonly method: string }) => method === 'equipmenttypes.list';
    fixture.sandbox.faults.next(isOfTypes, { kind: 'error', error: 'server_error' });
    const { stdout } = await fixture.run(['check'], {
      ...fixture.env,
      DATABASE_URL: 'postgres://somebody:else@127.0.0.1:1/nothing',
      SAFETY_EQUIPMENT_TYPES: undefined,
    });
    expect(stdout).toMatch(/^FAIL {2}service: equipmenttypes\.list/m);
    expect(stdout).not.toContain('no equipment types are configured');
  });

  it('without a usable warehouse check sends ten requests at most, and names what the first sync will read', async () => {
    fixture.sandbox.faults.next(({ method }) => method === 'equipmenttypes.list', {
      kind: 'error',
      error: 'api_method_not_found',
    });
    const types = Array.from({ length: 12 }, (_, at) => String(100 + at)).join(',');
    const url = 'postgres://somebody:else@127.0.0.1:1/nothing';
    const env = { ...fixture.env, DATABASE_URL: url, SAFETY_EQUIPMENT_TYPES: types };
    const { stdout } = await fixture.run(['check'], env);
    expect(fixture.sandbox.requests.map(({ method }) => method)).toHaveLength(10);
    expect(stdout).toContain('7 more types not asked: at most 10 requests\n');
    expect(stdout).toMatch(
      /^ok {4}first sync: will read .*61 records of followups\.list.*, equipment of 12 types$/m,
    );
  });
});
