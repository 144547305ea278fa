import { createSandbox, type Sandbox, type SandboxOptions } from '../../src/sandbox/index.ts';
import { type Connection, openConnection } from '../../src/database/connection.ts';
import { ensureBuilt } from './built-cli.ts';
import { type Cli, type CliEnvironment, createCli } from './cli.ts';
import { createEmptyTestDatabase, createTestDatabase } from './test-database.ts';
import { SMALL_SANDBOX } from './worker.ts';

/** The built program, a service to talk to and a warehouse of its own. */
export interface CliStage {
  readonly cli: Cli;
  readonly sandbox: Sandbox;
  readonly databaseUrl: string;
  /** Service and warehouse of this stage; logs as JSON. */
  readonly env: CliEnvironment;
  query<Row>(text: string): Promise<Row[]>;
  close(): Promise<void>;
}

export interface CliStageOptions {
  readonly sandbox?: SandboxOptions;
  /** A database that nothing was ever done to. */
  readonly isEmpty?: true;
}

export async function createCliStage(options: CliStageOptions = {}): Promise<CliStage> {
  await ensureBuilt();
  const sandbox = await createSandbox({ size: SMALL_SANDBOX, ...options.sandbox });
  const database = await (options.isEmpty ? createEmptyTestDatabase() : createTestDatabase());
  const connection: Connection = openConnection({ url: database.url, applicationName: 'test', max: 1 });
  const cli = await createCli();
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
    async close() {
      await cli.close();
      await connection.close();
      await sandbox.close();
      await database.drop();
    },
  };
}
