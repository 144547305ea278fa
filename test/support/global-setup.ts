import { randomBytes } from 'node:crypto';
import type { ProvidedContext } from 'vitest';
import type { TestProject } from 'vitest/node';
import { inDatabase, joinCluster, nodesOf, onServer } from './citus-nodes.ts';
import { migrateDatabase } from '../../src/warehouse/migrate.ts';
import { providePostgresServer } from './postgres-server.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** A server with the right to create databases. */
    testServerUrl: string;
    /** That server and, if it is a Citus coordinator, the other nodes: databases are created on all of them. */
    testServerNodes: readonly string[];
    /** The prefix of all databases of this test run, because several runs can share a server. */
    testDatabasePrefix: string;
    /** ms since 1970. */
    testRunBegan: number;
    /** The strategy for cloning databases: copying files is faster; PostgreSQL 15 made it optional. */
    testCloneStrategy: '' | 'strategy file_copy';
  }
}

interface TestServer {
  readonly url: string;
  readonly nodes: readonly string[];
  readonly prefix: string;
  readonly began: number;
  readonly cloneStrategy: ProvidedContext['testCloneStrategy'];
  close(): Promise<void>;
}

/** Loaded once per project of a test run; the projects share the server. */
const run = globalThis as { safetySyncTests?: { server: Promise<TestServer>; projects: number } };

/** Provides the databases of tests: one server per run, and one migrated template that every test clones. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const shared = (run.safetySyncTests ??= { server: startServer(), projects: 0 });
  shared.projects += 1;
  const server = await shared.server;
  project.provide('testServerUrl', server.url);
  project.provide('testRunBegan', server.began);
  project.provide('testServerNodes', server.nodes);
  project.provide('testDatabasePrefix', server.prefix);
  project.provide('testCloneStrategy', server.cloneStrategy);
  return async () => {
    shared.projects -= 1;
    if (shared.projects === 0) await server.close();
  };
}

async function startServer(): Promise<TestServer> {
  const say = (line: string): void => {
    process.stdout.write(`test databases: ${line}\n`);
  };
  const server = await providePostgresServer(process.env, say);
  say(server.description);
  const prefix = `safety_sync_test_${randomBytes(4).toString('hex')}_`;
  const nodes = await nodesOf(server.url);
  try {
    await createTemplate(nodes, `${prefix}template`);
    return {
      url: server.url,
      nodes,
      prefix,
      began: Date.now(),
      cloneStrategy: (await isFrom15(server.url)) ? 'strategy file_copy' : '',
      close: async () => {
        for (const node of nodes) await dropDatabases(node, prefix);
        await server.stop();
      },
    };
  } catch (error) {
    await server.stop();
    throw error;
  }
}

async function createTemplate(nodes: readonly string[], template: string): Promise<void> {
  const onCitus = nodes.length > 1;
  for (const node of nodes) {
    await onServer(node, (sql) => sql`create database ${sql(template)} encoding 'UTF8' template template0`);
  }
  if (onCitus) await joinCluster(nodes, template);
  await migrateDatabase(inDatabase(nodes[0] ?? '', template), { onCitus });
  // Cloning requires that no session is connected to the template.
  for (const node of nodes) {
    await onServer(node, async (sql) => {
      await sql`alter database ${sql(template)} with allow_connections false`;
      if (onCitus)
        await sql`select pg_terminate_backend(pid, 5000) from pg_stat_activity where datname = ${template}`;
    });
  }
}

async function isFrom15(url: string): Promise<boolean> {
  const [row] = await onServer(
    url,
    (sql) => sql<{ version: number }[]>`select current_setting('server_version_num')::int as version`,
  );
  return (row?.version ?? 0) >= 150_000;
}

async function dropDatabases(serverUrl: string, prefix: string): Promise<void> {
  await onServer(serverUrl, async (sql) => {
    const rows = await sql<{ datname: string }[]>`
      select datname from pg_database where starts_with(datname, ${prefix})`;
    for (const { datname } of rows) await sql`drop database if exists ${sql(datname)} with (force)`;
  });
}
