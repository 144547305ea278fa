import { test } from 'vitest';
import { createSandbox, type Sandbox, type SandboxOptions } from '../../src/sandbox/index.ts';
import { type Cli, type CliEnvironment, createCli, type RunningCli } from './cli.ts';
import { runInProcess, type Said, startInProcess } from './in-process.ts';
import { createEmptyTestDatabase, createTestDatabase, openTestDatabase } from './test-database.ts';
import { serviceEnv, SMALL_SANDBOX } from './world.ts';

/** The program with a service and a warehouse of its own. */
export interface CliFixture {
  /** The built program, for tests that need a process: signals, exit codes, a working directory, concurrency. */
  readonly cli: Cli;
  readonly sandbox: Sandbox;
  readonly databaseUrl: string;
  /** Settings for this fixture's service and warehouse, with JSON logs. */
  readonly env: CliEnvironment;
  query<Row>(text: string): Promise<Row[]>;
  /** Runs a command to its end, inside the test process, with `env` and these settings. */
  run(args: readonly string[], env?: CliEnvironment): Promise<Said>;
  /** Starts a command likewise; `close` stops it. */
  start(args: readonly string[], env?: CliEnvironment): RunningCli;
  close(): Promise<void>;
}

interface CliFixtureOptions {
  readonly sandbox?: SandboxOptions;
  /** An empty database. */
  readonly isEmpty?: true;
}

async function createWorld(options: CliFixtureOptions) {
  const sandbox = await createSandbox({ size: SMALL_SANDBOX, ...options.sandbox });
  const database = await openTestDatabase(
    {},
    options.isEmpty ? createEmptyTestDatabase() : createTestDatabase(),
  );
  return {
    sandbox,
    databaseUrl: database.url,
    query: <Row>(text: string) => database.query<Row>(text),
    async close() {
      await sandbox.close();
      await database.close();
    },
  };
}

export async function createCliFixture(options: CliFixtureOptions = {}): Promise<CliFixture> {
  const world = await createWorld(options);
  const { sandbox, databaseUrl } = world;
  const env = {
    ...serviceEnv(world),
    HTTP_PORT: '0',
    // Retries follow at once, so that tests do not wait.
    RETRY_MIN_DELAY_MS: '1',
    RETRY_MAX_DELAY_MS: '20',
  };
  const cli = await createCli();
  const running: RunningCli[] = [];
  return {
    cli,
    sandbox,
    databaseUrl,
    env,
    query: (text) => world.query(text),
    run: (args, more = {}) => runInProcess(args, { LOG_LEVEL: 'info', ...env, ...more }),
    start(args, more = {}) {
      const program = startInProcess(args, { ...env, ...more });
      running.push(program);
      return program;
    },
    async close() {
      for (const program of running) program.kill('SIGTERM');
      await Promise.allSettled(running.map(({ finished }) => finished));
      await cli.close();
      await world.close();
    },
  };
}

/** A test with its own fixture. Tests that mostly wait for timers can then run concurrently. */
// eslint-disable-next-line no-empty-pattern -- Vitest reads the required fixtures from the pattern: none.
export const staged = test.extend('fixture', async ({}, { onCleanup }) => {
  const fixture = await createCliFixture();
  onCleanup(() => fixture.close());
  return fixture;
});
