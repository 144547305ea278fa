import { test } from 'vitest';
import { createSandbox, type Sandbox, type SandboxOptions } from '../../src/sandbox/index.ts';
import { type Connection, openConnection } from '../../src/database/connection.ts';
import { type Cli, type CliEnvironment, createCli, type RunningCli } from './cli.ts';
import { runInProcess, type Said, startInProcess } from './in-process.ts';
import { createEmptyTestDatabase, createTestDatabase } from './test-database.ts';
import { SMALL_SANDBOX } from './worker.ts';

/** The program, a service to talk to and a warehouse of its own. */
export interface CliStage {
  /** The built program, for what needs a process: signals, exit codes, a working directory, two at once. */
  readonly cli: Cli;
  readonly sandbox: Sandbox;
  readonly databaseUrl: string;
  /** Service and warehouse of this stage; logs as JSON. */
  readonly env: CliEnvironment;
  query<Row>(text: string): Promise<Row[]>;
  /** Runs a command to its end, inside of the test. */
  run(args: readonly string[], env?: CliEnvironment): Promise<Said>;
  /** Starts a command inside of the test; `close` stops it. */
  start(args: readonly string[], env?: CliEnvironment): RunningCli;
  close(): Promise<void>;
}

interface CliStageOptions {
  readonly sandbox?: SandboxOptions;
  /** A database that nothing was ever done to. */
  readonly isEmpty?: true;
}

export async function createCliStage(options: CliStageOptions = {}): Promise<CliStage> {
  const sandbox = await createSandbox({ size: SMALL_SANDBOX, ...options.sandbox });
  const database = await (options.isEmpty ? createEmptyTestDatabase() : createTestDatabase());
  const connection: Connection = openConnection({ url: database.url, applicationName: 'test', max: 1 });
  const cli = await createCli();
  const running: RunningCli[] = [];
  return {
    cli,
    sandbox,
    databaseUrl: database.url,
    env: {
      SAFETY_BASE_URL: sandbox.url,
      SAFETY_TOKEN: sandbox.token,
      SAFETY_EQUIPMENT_TYPES: sandbox.equipmentTypes.join(','),
      DATABASE_URL: database.url,
      HTTP_PORT: '0',
      // What fails is asked again at once: nobody waits for a second here.
      RETRY_MIN_DELAY_MS: '1',
      RETRY_MAX_DELAY_MS: '20',
    },
    query: (text) => connection.query(text),
    run: (args, env = {}) => runInProcess(args, { LOG_LEVEL: 'info', ...env }),
    start(args, env = {}) {
      const program = startInProcess(args, env);
      running.push(program);
      return program;
    },
    async close() {
      for (const program of running) program.kill('SIGTERM');
      await Promise.allSettled(running.map(({ finished }) => finished));
      await cli.close();
      await connection.close();
      await sandbox.close();
      await database.drop();
    },
  };
}

/** A test with a stage of its own: those that wait for timers most of the time can then run side by side. */
// eslint-disable-next-line no-empty-pattern -- Vitest reads from the pattern what else the stage takes: nothing.
export const staged = test.extend('stage', async ({}, { onCleanup }) => {
  const stage = await createCliStage();
  onCleanup(() => stage.close());
  return stage;
});
