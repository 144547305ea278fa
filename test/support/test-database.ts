import { randomBytes } from 'node:crypto';
import postgres from 'postgres';
import { inject } from 'vitest';

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
    // What `migrate --citus` has set for the template is no part of a clone.
    await onServer(
      (sql) => sql`alter database ${sql(name)} set citus.allow_nested_distributed_execution = on`,
    );
  }
  const url = new URL(inject('testServerUrl'));
  url.pathname = `/${name}`;
  return {
    url: url.href,
    drop: () => onServer((sql) => sql`drop database if exists ${sql(name)} with (force)`),
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
