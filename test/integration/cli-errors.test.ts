/** What a verb says when it cannot do its work: on stderr in words, with --json on stdout as JSON. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { buildProgram } from '../../src/cli/program.ts';
import { createTerminal } from '../../src/cli/terminal.ts';
import { openConnection } from '../../src/warehouse/connection.ts';
import { runInProcess } from '../support/in-process.ts';
import { createTestDatabase, type TestDatabase } from '../support/test-database.ts';

const CONTEXT = { env: {}, terminal: createTerminal({}), signal: new AbortController().signal };
const JSON_VERBS = buildProgram(CONTEXT, () => undefined)
  .commands.filter(({ options }) => options.some(({ long }) => long === '--json'))
  .map((command) => command.name());
const DATABASE_ANSWERS = JSON_VERBS.filter((verb) => verb !== 'check');

interface JsonError {
  readonly error: { readonly code: string; readonly message: string; readonly advice: string };
}

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(() => database.drop());

async function query(text: string): Promise<void> {
  const connection = openConnection({ url: database.url, applicationName: 'test', max: 1 });
  try {
    await connection.query(text);
  } finally {
    await connection.close();
  }
}

const TABLES = ['runs', 'data_issues', 'stream_state'];
const service = { SAFETY_BASE_URL: 'http://127.0.0.1:1', SAFETY_TOKEN: 'sandbox-token', RETRY_ATTEMPTS: '0' };

describe('with --json', () => {
  test.each(JSON_VERBS)('%s answers bad configuration as JSON, with exit code 2', async (verb) => {
    const { code, stdout, stderr } = await runInProcess([verb, '--json'], {
      ...service,
      HTTP_PORT: 'eighty',
    });
    expect(JSON.parse(stdout)).toEqual({
      error: {
        code: 'configuration_invalid',
        message: 'the configuration is not usable:\n  - HTTP_PORT: expected a port, 0 to 65535, got "eighty"',
        advice: 'Correct the named variables; nothing was tried.',
        request_id: null,
      },
    });
    expect(stderr).toContain('configuration_invalid: ');
    expect(code).toBe(2);
  });

  test.each(DATABASE_ANSWERS)(
    '%s answers a database that is away as JSON, with exit code 1',
    async (verb) => {
      const env = { ...service, DATABASE_URL: 'postgres://owner:hidden-word@127.0.0.1:1/nothing' };
      const { code, stdout } = await runInProcess([verb, '--json'], env);
      const { error } = JSON.parse(stdout) as JsonError;
      expect(error).toMatchObject({ code: 'database_unreachable' });
      expect(error.message).toContain('ECONNREFUSED');
      expect(stdout).not.toContain('hidden-word');
      expect(code).toBe(1);
    },
  );

  test('bad usage is JSON, too', async () => {
    const { code, stdout } = await runInProcess(['runs', '--json', '--nope'], {});
    expect(JSON.parse(stdout)).toMatchObject({
      error: { code: 'usage_invalid', message: "unknown option '--nope'" },
    });
    expect(code).toBe(2);
  });

  test.each([
    ['followup', 'no stream is named followup, did you mean followups? the streams are resources, '],
    ['folowups', 'no stream is named folowups, did you mean followups? the streams are resources, '],
    ['training', 'no stream is named training, did you mean training-employee-status? the streams are '],
    ['people', 'no stream is named people; the streams are resources, '],
  ])(
    'a stream that was mistyped as %s is answered with the one that was probably meant',
    async (name, says) => {
      const { code, stdout } = await runInProcess(['sync', name, '--json'], {});
      expect((JSON.parse(stdout) as JsonError).error.message).toContain(says);
      expect(code).toBe(2);
    },
  );

  test('a database URL that ends too early never reaches a name server', async () => {
    const env = { ...service, DATABASE_URL: 'postgres://owner:p@ss/word@127.0.0.1/nothing' };
    const { code, stdout, stderr } = await runInProcess(['check', '--json'], env);
    expect(JSON.parse(stdout)).toMatchObject({ error: { code: 'configuration_invalid' } });
    expect(stdout).toContain('the password p@ss/word is p%40ss%2Fword');
    expect(`${stdout}${stderr}`).not.toMatch(/ENOTFOUND|owner/);
    expect(code).toBe(2);
  });
});

describe('a statement that PostgreSQL refuses', () => {
  test.each(['status', 'runs', 'data-issues', 'report'])(
    'is told by %s with its code and reason, without the statement, its parameters or a stack',
    async (verb) => {
      for (const name of TABLES) await query(`alter table safety_sync.${name} rename to ${name}_away`);
      try {
        const { code, stdout, stderr } = await runInProcess([verb, '--json'], { DATABASE_URL: database.url });
        expect(JSON.parse(stdout)).toMatchObject({ error: { code: 'database_not_migrated' } });
        expect(stderr).toMatch(/^database_not_migrated: PostgreSQL: relation .* does not exist/);
        expect(`${stdout}${stderr}`).not.toMatch(/Failed query|select|params|DrizzleQueryError|\n {4}at /);
        expect(code).toBe(1);
      } finally {
        for (const name of TABLES) await query(`alter table safety_sync.${name}_away rename to ${name}`);
      }
    },
  );
});
