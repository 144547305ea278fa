/** A database for one measurement, and PostgreSQL's own figures of it. */
import { randomBytes } from 'node:crypto';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Connection, openConnection } from '../../src/engine/database/connection.ts';
import { acquireEmbeddedServer } from '../../src/embedded/server.ts';
import { migrateDatabase } from '../../src/warehouse/migrate.ts';
import { inDatabase, joinCluster, nodesOf } from '../../test/support/citus-nodes.ts';
import { processorSeconds } from './processor-time.ts';

export interface BenchServer {
  readonly description: string;
  /** Processor time of PostgreSQL with all its processes, s; null where they are not on this machine. */
  cpuSeconds(): Promise<number | null>;
  /** A new database with the present schema. */
  createWarehouse(): Promise<Warehouse>;
  close(): Promise<void>;
}

export interface Warehouse {
  readonly url: string;
  readonly connection: Connection;
  /** Bytes of write-ahead log since PostgreSQL began. */
  walBytes(): Promise<number>;
  /** Rows that transactions have written in schema `safety`, and in the peer's, so far. */
  rowsWritten(): Promise<number>;
  drop(): Promise<void>;
}

/**
 * The server of DATABASE_URL, on which databases may be created, else an embedded one with its usual settings: fsync is on.
 * The coordinator of a Citus cluster gives warehouses that are distributed.
 */
export async function startServer(named = process.env['DATABASE_URL']): Promise<BenchServer> {
  if (named !== undefined) return describeServer(named, false, () => Promise.resolve());
  const dataDir = await mkdtemp(join(tmpdir(), 'safety-sync-bench-'));
  const server = await acquireEmbeddedServer({ dataDir, database: 'postgres' });
  return describeServer(server.url, true, async () => {
    await server.release();
    await rm(dataDir, { recursive: true, force: true });
  });
}

async function describeServer(
  url: string,
  isHere: boolean,
  close: () => Promise<void>,
): Promise<BenchServer> {
  const admin = openConnection({ url, applicationName: 'bench', max: 1 });
  const postmaster = isHere ? await findPostmaster(admin) : null;
  const [version] = await admin.query<{ version: string; fsync: string }>(
    `select current_setting('server_version') as version, current_setting('fsync') as fsync`,
  );
  const nodes = await nodesOf(url);
  const others = nodes
    .slice(1)
    .map((node) => openConnection({ url: node, applicationName: 'bench', max: 1 }));
  const onNodes = nodes.length === 1 ? '' : `, Citus with ${nodes.length - 1} workers`;
  return {
    description: `PostgreSQL ${version?.version}, fsync ${version?.fsync}${onNodes}`,
    cpuSeconds: () => (postmaster === null ? Promise.resolve(null) : processorSeconds(postmaster)),
    createWarehouse: () => createWarehouse([admin, ...others], nodes),
    async close() {
      for (const connection of [admin, ...others]) await connection.close();
      await close();
    },
  };
}

async function findPostmaster(admin: Connection): Promise<number> {
  const [told] = await admin.query<{ folder: string }>(`select current_setting('data_directory') as folder`);
  const [pid] = (await readFile(join(told?.folder ?? '', 'postmaster.pid'), 'utf8')).split('\n');
  return Number(pid);
}

/** A database on every node: of one PostgreSQL, or of a cluster, the coordinator first. */
async function createWarehouse(admins: readonly Connection[], nodes: readonly string[]): Promise<Warehouse> {
  const name = `safety_sync_bench_${randomBytes(6).toString('hex')}`;
  for (const admin of admins) await admin.query(`create database ${name} template template0 encoding 'UTF8'`);
  const onCitus = nodes.length > 1;
  if (onCitus) await joinCluster(nodes, name);
  const url = inDatabase(nodes[0] ?? '', name);
  await migrateDatabase(url, { onCitus });
  const connection = openConnection({ url, applicationName: 'bench', max: 1 });
  const one = async (text: string): Promise<number> => {
    const [row] = await connection.query<{ value: string }>(`select (${text})::text as value`);
    return Number(row?.value);
  };
  return {
    url,
    connection,
    walBytes: () => one(`select pg_current_wal_insert_lsn() - '0/0'`),
    async rowsWritten() {
      // Other sessions report their statistics with a short delay; without a new snapshot even those reported
      // would be missing.
      await connection.query('select pg_stat_clear_snapshot(), pg_stat_force_next_flush()');
      return await one(
        `select coalesce(sum(n_tup_ins + n_tup_upd + n_tup_del), 0) from pg_stat_user_tables where schemaname in ('safety', 'peer')`,
      );
    },
    async drop() {
      await connection.close();
      for (const admin of admins) await admin.query(`drop database if exists ${name} with (force)`);
    },
  };
}
