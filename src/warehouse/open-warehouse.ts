import { type Connection, openConnection } from '../engine/database/connection.ts';
import { migrateDatabase, type MigrateOptions, type MigrationOutcome } from './migrate.ts';
import { assertMigrated } from '../engine/database/migration-status.ts';
import type { OnStatement } from '../engine/database/watch-statements.ts';

interface Warehouse {
  /** With the current password. */
  readonly url: string;
  readonly connection: Connection;
  /** Applies the missing migrations. */
  migrate(options?: MigrateOptions): Promise<MigrationOutcome>;
  /** Errors: `database_not_migrated`, `database_newer`. */
  assertMigrated(): Promise<void>;
  /** Opens a connection in addition to the existing ones, and closes it. */
  tryConnecting(): Promise<void>;
  close(): Promise<void>;
}

/** In addition to the sessions of runs, each with a connection of its own. */
const MAX_CONNECTIONS = 3;

const passwordOf = (url: string): string => decodeURIComponent(new URL(url).password);

interface OpenWarehouseOptions {
  /** Returns the current URL, because its password may change; default: the URL stays. */
  readonly readUrl?: (() => string) | undefined;
  readonly onStatement?: OnStatement | undefined;
  /** After this signal long statements are cancelled. */
  readonly signal?: AbortSignal | undefined;
}

export function openWarehouse(
  url: string,
  { readUrl, onStatement, signal }: OpenWarehouseOptions = {},
): Warehouse {
  // Without a value in the URL PostgreSQL's own variables may set it.
  const password = readUrl === undefined || passwordOf(url) === '' ? undefined : () => passwordOf(readUrl());
  const currentUrl = readUrl ?? (() => url);
  const connection = openConnection({
    url,
    password,
    applicationName: 'safety-sync',
    max: MAX_CONNECTIONS,
    onStatement,
    signal,
  });
  return {
    get url() {
      return currentUrl();
    },
    connection,
    migrate: (options) => migrateDatabase(currentUrl(), { ...options, signal }),
    assertMigrated: () => assertMigrated(connection),
    async tryConnecting() {
      const tried = openConnection({ url: currentUrl(), applicationName: 'safety-sync', max: 1 });
      try {
        await tried.query('select 1');
      } finally {
        await tried.close();
      }
    },
    close: () => connection.close(),
  };
}
