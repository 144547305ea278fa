/** What verbs answer of a warehouse that is in use, in words and as JSON. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createSandbox, type Sandbox } from '../../src/sandbox/index.ts';
import { runInProcess, type Said } from '../support/in-process.ts';
import { createTestDatabase, type TestDatabase } from '../support/test-database.ts';
import { SMALL_SANDBOX } from '../support/worker.ts';

let sandbox: Sandbox;
let database: TestDatabase;

beforeEach(async () => {
  sandbox = await createSandbox({ size: SMALL_SANDBOX });
  database = await createTestDatabase();
});

afterEach(async () => {
  await sandbox.close();
  await database.drop();
});

const run = (args: readonly string[], more: Readonly<Record<string, string>> = {}): Promise<Said> =>
  runInProcess(args, {
    SAFETY_BASE_URL: sandbox.url,
    SAFETY_TOKEN: sandbox.token,
    SAFETY_EQUIPMENT_TYPES: sandbox.equipmentTypes.join(','),
    DATABASE_URL: database.url,
    RETRY_ATTEMPTS: '0',
    ...more,
  });

type Rows = readonly Readonly<Record<string, unknown>>[];

async function runsOf(args: readonly string[], more?: Readonly<Record<string, string>>): Promise<Rows> {
  return (JSON.parse((await run([...args, '--json'], more)).stdout) as { runs: Rows }).runs;
}

describe('as JSON', () => {
  test('a sync names its runs by the numbers that they have in the history', async () => {
    const synced = await runsOf(['sync']);
    const history = await runsOf(['runs']);
    const numbers = new Map(history.map((row) => [row['stream'], row['run_id']]));
    expect(synced).toHaveLength(5);
    for (const { stream, run_id: runId } of synced)
      expect([stream, runId]).toEqual([stream, numbers.get(stream)]);
  });

  test('every time has one form: ISO 8601 in UTC', async () => {
    sandbox.store.followups.put({ id: 'bad-time', created_on: 'yesterday', updated_on: 5 });
    await run(['sync']);
    const said = await Promise.all(
      ['status', 'runs', 'data-issues'].map(async (verb) => (await run([verb, '--json'])).stdout),
    );
    for (const text of said) {
      expect(text).toMatch(/"\w+_at":"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z"/);
      expect(text).not.toMatch(/"\d{4}-\d\d-\d\d \d\d:\d\d/);
    }
  });
});

describe('with a refused token', () => {
  test('a sync lists all its streams: users were not tried, and why', async () => {
    const refused = { SAFETY_TOKEN: 'not-this-one' };
    const runs = await runsOf(['sync'], refused);
    expect(runs.map(({ stream, outcome }) => [stream, outcome])).toEqual([
      ['resources', 'failed'],
      ['followups', 'failed'],
      ['training-employee-status', 'failed'],
      ['equipments', 'failed'],
      ['users', 'skipped'],
    ]);
    const reason = 'not tried: the service refuses the credentials (token_invalid)';
    expect(runs[4]).toMatchObject({ run_id: null, reason, requests: 0 });
    const { code, stdout } = await run(['sync'], refused);
    expect(stdout).toMatch(/^users +skipped/m);
    expect(stdout).toContain(`users: ${reason}\n`);
    expect(code).toBe(3);
  });
});
