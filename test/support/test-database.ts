import { randomBytes } from 'node:crypto';
import pRetry from 'p-retry';
import postgres from 'postgres';
import { inject } from 'vitest';

const OBJECT_IN_USE = '55006';

/** A database of one test alone; what the test forgets to drop goes at the end of the run. */
export interface TestDatabase {
  readonly url: string;
  /** Also while something is still connected. */
  drop(): Promise<void>;
}

/** With all migrations applied: a clone, which takes some 30 ms. */
export async function createTestDatabase(): Promise<TestDatabase> {
  return create(`${inject('testDatabasePrefix')}template`);
}

/** As a user's new database is: nothing of ours in it. */
export async function createEmptyTestDatabase(): Promise<TestDatabase> {
  return create('template0');
}

async function create(template: string): Promise<TestDatabase> {
  const name = `${inject('testDatabasePrefix')}${randomBytes(6).toString('hex')}`;
  await onServer(
    (sql) =>
      sql`create database ${sql(name)} template ${sql(template)} encoding 'UTF8' ${sql.unsafe(inject('testCloneStrategy'))}`,
  );
  if (inject('testServerNodes').length > 1) {
    await onServer(async (sql) => {
      // What `migrate --citus` has set for the template is no part of a clone.
      await sql`alter database ${sql(name)} set citus.allow_nested_distributed_execution = on`;
      // Tests let a table refuse or wait by a trigger; the product has none.
      await sql`alter database ${sql(name)} set citus.enable_unsafe_triggers = on`;
    });
  }
  const url = new URL(inject('testServerUrl'));
  url.pathname = `/${name}`;
  return {
    url: url.href,
    drop: () =>
      onServer((sql) =>
        // A background worker of Citus can come back between the end of all sessions and the drop.
        pRetry(() => sql`drop database if exists ${sql(name)} with (force)`.execute(), {
          retries: 2,
          minTimeout: 50,
          shouldRetry: ({ error }) => 'code' in error && error.code === OBJECT_IN_USE,
        }),
      ),
  };
}

/** All nodes, if the server is the coordinator of a Citus cluster. */
let servers: readonly postgres.Sql[] | undefined;

/** One connection for all tests of a worker: a new one for each would take longer than the clone. */
async function onServer(work: (sql: postgres.Sql) => Promise<unknown>): Promise<void> {
  servers ??= inject('testServerNodes').map((url) =>
    postgres(url, { max: 2, idle_timeout: 2, fetch_types: false, onnotice: () => undefined }),
  );
  await Promise.all(servers.map(work));
}
