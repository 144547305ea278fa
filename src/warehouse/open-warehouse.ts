import { SafetySyncError } from '../shared/errors.ts';
import { READ_ONLY_ADVICE } from '../engine/database/database-error.ts';
import { openConnection } from '../engine/database/connection.ts';
import { migrateDatabase, type MigrateOptions } from './migrate.ts';

/** In addition to the sessions of runs, each with a connection of its own. */
const MAX_CONNECTIONS = 3;

export type Warehouse = ReturnType<typeof openWarehouse>;

/** `currentUrl`: its password may change. */
export function openWarehouse(
  currentUrl: () => string,
  { warn, signal }: Pick<MigrateOptions, 'warn' | 'signal'>,
) {
  const connection = openConnection({ url: currentUrl, max: MAX_CONNECTIONS, signal });
  return {
    /** With the current password. */
    get url() {
      return currentUrl();
    },
    connection,
    /** Applies the missing migrations. */
    migrate: (options?: MigrateOptions) => migrateDatabase(currentUrl(), { ...options, warn, signal }),
    /** Opens a connection in addition to the existing ones, and closes it. Error: `database_unreachable`, also if it is read-only. */
    async tryConnecting() {
      const tried = openConnection({ url: currentUrl() });
      try {
        const [server] = await tried.query<{ is_read_only: boolean }>(
          `select current_setting('transaction_read_only')::boolean as is_read_only`,
        );
        if (server?.is_read_only === true) {
          const message = 'PostgreSQL: it is read-only';
          throw new SafetySyncError('database_unreachable', message, { advice: READ_ONLY_ADVICE });
        }
      } finally {
        await tried.close();
      }
    },
    /**
     * Whether two connections share sessions of the server, as behind a pooler in transaction mode. Such a pooler can also
     * keep the two apart, so false is no proof.
     */
    async sharesSessions(): Promise<boolean> {
      const two = [1, 2].map(() => openConnection({ url: currentUrl() }));
      try {
        const pids = new Set<number | undefined>();
        for (const client of [...two, ...two, ...two])
          pids.add((await client.query<{ pid: number }>('select pg_backend_pid() as pid'))[0]?.pid);
        return pids.size !== two.length;
      } finally {
        await Promise.all(two.map((client) => client.close()));
      }
    },
  };
}
