/** Errors of verbs: on stderr in words, with --json on stdout as JSON. */
import { describe, expect, test } from 'vitest';
import { buildProgram } from '../../src/cli/program.ts';
import { DEFINITIONS } from '../../src/engine/database/definitions.ts';
import { createSandbox } from '../../src/sandbox/index.ts';
import type { CliEnvironment } from '../support/cli.ts';
import { runInProcess, type Said } from '../support/in-process.ts';
import { forAllTests, untilTestEnds } from '../support/lifetime.ts';
import { createRole, openTestDatabase } from '../support/test-database.ts';
import { serviceEnv, SMALL_SANDBOX } from '../support/world.ts';

/** Possible arguments of a verb. */
const ARGUMENTS: Readonly<Record<string, string>> = { stream: 'followups', id: '1' };
/** Verbs with their required arguments; the name of a subcommand is the first argument. */
const JSON_VERBS = (await buildProgram(() => Promise.resolve())).commands
  .flatMap((command) => [
    { verb: command.name(), before: [] as string[], command },
    ...command.commands.map((one) => ({ verb: command.name(), before: [one.name()], command: one })),
  ])
  .filter(({ command }) => command.options.some(({ long }) => long === '--json'))
  .map(({ verb, before, command }) => {
    const needed = command.registeredArguments.filter(({ variadic }) => !variadic);
    const named = before.includes('grant') ? ['--account', 'default'] : [];
    return {
      verb,
      taken: [...before, ...needed.map((one) => ARGUMENTS[one.name()] ?? 'something'), ...named],
    };
  })
  // It reads no settings.
  .filter(({ verb }) => verb !== 'settings');
/** Verbs that need no database. */
const WITHOUT_DATABASE = ['check', 'alerts test'];
const DATABASE_ANSWERS = JSON_VERBS.filter(
  ({ verb, taken }) => !WITHOUT_DATABASE.includes([verb, ...taken].join(' ')),
);

interface Check {
  readonly what: string;
  readonly result: string;
  readonly finding: string;
  readonly advice: string | null;
}

interface Answer extends Said {
  readonly error: { readonly code: string; readonly message: string; readonly advice: string };
  readonly checks: readonly Check[];
  readonly runs: readonly { readonly stream: string; readonly outcome: string }[];
}

async function askJson(args: readonly string[], env: CliEnvironment): Promise<Answer> {
  const said = await runInProcess([...args, '--json'], env);
  return { ...said, ...(JSON.parse(said.stdout) as Pick<Answer, 'error' | 'checks' | 'runs'>) };
}

const database = forAllTests(() => openTestDatabase());
const service = { SAFETY_BASE_URL: 'http://127.0.0.1:1', SAFETY_TOKEN: 'sandbox-token', RETRY_ATTEMPTS: '0' };

describe('with --json', () => {
  test.each(JSON_VERBS)(
    '$verb --json reports an invalid configuration as JSON and exits with 2',
    async ({ verb, taken }) => {
      const env = { ...service, HTTP_PORT: 'eighty' };
      const { code, error, stderr } = await askJson([verb, ...taken], env);
      expect(error).toEqual({
        code: 'configuration_invalid',
        message: 'the configuration is not usable:\n  - HTTP_PORT: expected a port, 0 to 65535, got "eighty"',
        advice: 'Correct the named variables; nothing was tried.',
        request_id: null,
      });
      expect(stderr).toContain('configuration_invalid: ');
      expect(code).toBe(2);
    },
  );

  test.each(DATABASE_ANSWERS)(
    '$verb --json reports an unreachable database as JSON and exits with 1',
    async ({ verb, taken }) => {
      const env = { ...service, DATABASE_URL: 'postgres://owner:hidden-word@127.0.0.1:1/nothing' };
      const { code, error, stdout, stderr } = await askJson([verb, ...taken], env);
      expect(error).toMatchObject({ code: 'database_unreachable' });
      expect(error.message).toContain('ECONNREFUSED');
      expect(error.advice).toMatch(/that PostgreSQL is up/);
      expect(`${stdout}${stderr}`).not.toContain('hidden-word');
      expect(code).toBe(1);
    },
  );

  test('an unknown option and an unknown stream are reported as JSON, the stream with one that is meant', async () => {
    const option = await askJson(['runs', '--nope'], {});
    expect(option).toMatchObject({
      code: 2,
      error: { code: 'usage_invalid', message: "unknown option '--nope'" },
    });
    const stream = await askJson(['sync', 'training'], {});
    expect(stream.error.message).toMatch(/^no stream is named training; the streams are resources, /);
    expect(stream.code).toBe(2);
  });
});

/** A test server trusts every role, so any name will do. */
function urlWith(change: (url: URL) => void): string {
  const url = new URL(database.url);
  change(url);
  return url.href;
}

describe('the advice of an error', () => {
  test('if the token lacks the right to one method, check and sync fail for the stream of this method alone', async () => {
    const sandbox = untilTestEnds(await createSandbox({ size: SMALL_SANDBOX }));
    const env = {
      ...service,
      ...serviceEnv({ sandbox, databaseUrl: database.url }),
      SAFETY_EQUIPMENT_TYPES: '',
    };
    const refuse = () =>
      sandbox.faults.next(({ method }) => method === 'resources.list', {
        kind: 'error',
        error: 'token_permission',
      });
    refuse();
    const { checks } = await askJson(['check'], env);
    const ofService = checks.filter(({ what }) => what.startsWith('service: '));
    expect(ofService.filter(({ result }) => result !== 'ok').map(({ what }) => what)).toEqual([
      'service: resources.list',
    ]);
    expect(ofService.map(({ what }) => what)).toEqual(
      expect.arrayContaining(['service: followups.list', 'service: users.list']),
    );
    refuse();
    const { runs } = await askJson(['sync'], env);
    expect(runs.find(({ stream }) => stream === 'resources')?.outcome).toBe('failed');
    expect(runs.find(({ stream }) => stream === 'users')?.outcome).toBe('succeeded');
  });

  test('check says that the system has another version of the collation than the database was made with', async ({
    skip,
  }) => {
    const [server] = await database.query<{ is_old: boolean }>(
      `select current_setting('server_version_num')::int < 150000 as is_old`,
    );
    skip(server?.is_old === true, 'PostgreSQL 14 knows no version of a collation');
    const made = new URL(database.url);
    made.pathname += '_icu';
    const name = made.pathname.slice(1);
    await database.query(
      `create database "${name}" template template0 locale_provider icu icu_locale 'und' locale 'C'`,
    );
    await runInProcess(['migrate'], { DATABASE_URL: made.href });
    const answer = async () => (await askJson(['check'], { ...service, DATABASE_URL: made.href })).checks;
    expect((await answer()).filter(({ what }) => what === 'collation')).toEqual([]);
    await database.query(`update pg_database set datcollversion = '1' where datname = '${name}'`);
    expect((await answer()).filter(({ what }) => what === 'collation')).toMatchObject([
      { result: 'skipped', advice: expect.stringContaining(`reindex database ${name}`) as string },
    ]);
  });

  test('if the database user lacks rights, the grants that check prints are sufficient', async () => {
    const role = await createRole(database, `login password 'read-only-word'`);
    const DATABASE_URL = urlWith((url) => {
      url.username = role;
      url.password = 'read-only-word';
    });
    const rights = async () => {
      const { checks } = await askJson(['check'], { ...service, DATABASE_URL });
      return checks.find(({ what }) => what === 'rights');
    };
    await database.query(
      `revoke temporary on database ${new URL(database.url).pathname.slice(1)} from public`,
    );
    const without = await rights();
    expect(without?.finding).toMatch(
      /^not on temporary tables, schema safety, schema safety_sync, safety\.\w+, /,
    );
    const grants = without?.advice?.match(/^(?:grant|alter) .+;$/gm) ?? [];
    expect(grants).toHaveLength(4);
    await database.query(grants[0] ?? '');
    const reading = await rights();
    expect(reading?.finding).toMatch(/^not on temporary tables, (?:safety\.\w+,? ){4}and \d+ more$/);
    expect(reading?.advice).toBe(without?.advice);
    for (const grant of grants) await database.query(grant);
    expect(await rights()).toMatchObject({ result: 'ok', advice: null });
    // As a later version does that changes this view.
    await database.query(DEFINITIONS.find(({ name }) => name === 'safety_sync.status')?.statements ?? '');
    expect(await askJson(['status'], { ...service, DATABASE_URL })).toHaveProperty('problems');
  });
});
