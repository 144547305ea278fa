import { acquireEmbeddedServer } from '../embedded/server.ts';
import { type Connection, openConnection } from './connection.ts';
import { migrateDatabase, type MigrationOutcome, readMigrationStatus } from './migrate.ts';
import { SafetySyncError } from '../shared/errors.ts';

export interface Warehouse {
  readonly url: string;
  readonly connection: Connection;
  readonly isEmbedded: boolean;
  /** Applies what is missing. */
  migrate(): Promise<MigrationOutcome>;
  /** Throws `database_not_migrated` when the warehouse lacks a migration of this program. */
  assertMigrated(): Promise<void>;
  close(): Promise<void>;
}

export interface OpenWarehouseOptions {
  /** undefined: the embedded server. */
  readonly url: string | undefined;
  readonly embedded: { readonly dataDir: string; readonly database: string };
  readonly applicationName: string;
  readonly maxConnections: number;
  /** Told in one line which embedded server is used. */
  readonly say: (line: string) => void;
}

export async function openWarehouse(options: OpenWarehouseOptions): Promise<Warehouse> {
  const embedded = options.url === undefined ? await acquireEmbeddedServer(options.embedded) : undefined;
  const url = options.url ?? embedded?.url ?? '';
  if (embedded !== undefined) {
    const how = embedded.joined ? 'already running' : 'started';
    options.say(
      `DATABASE_URL is not set: using the embedded PostgreSQL in ${options.embedded.dataDir} (${how})`,
    );
  }
  const connection = openConnection({
    url,
    applicationName: options.applicationName,
    max: options.maxConnections,
  });
  return {
    url,
    connection,
    isEmbedded: embedded !== undefined,
    migrate: () => migrateDatabase(url),
    async assertMigrated() {
      const { pending } = await readMigrationStatus(connection);
      if (pending > 0) {
        throw new SafetySyncError(
          'database_not_migrated',
          `the warehouse lacks ${pending} of this program’s migrations`,
        );
      }
    },
    async close() {
      await connection.close();
      await embedded?.release();
    },
  };
}
