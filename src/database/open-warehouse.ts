import { type Connection, openConnection } from './connection.ts';
import { migrateDatabase, type MigrationOutcome, readMigrationStatus } from './migrate.ts';
import { SafetySyncError } from '../shared/errors.ts';
import type { OnStatement } from './watch-statements.ts';

export interface Warehouse {
  readonly url: string;
  readonly connection: Connection;
  /** Applies what is missing. */
  migrate(): Promise<MigrationOutcome>;
  /** Throws `database_not_migrated` when the warehouse lacks a migration of this program. */
  assertMigrated(): Promise<void>;
  close(): Promise<void>;
}

/** Besides the sessions of runs, each of which has a connection of its own. */
const MAX_CONNECTIONS = 3;

export function openWarehouse(url: string, onStatement?: OnStatement): Warehouse {
  const connection = openConnection({
    url,
    applicationName: 'safety-sync',
    max: MAX_CONNECTIONS,
    onStatement,
  });
  return {
    url,
    connection,
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
    close: () => connection.close(),
  };
}
