/** A database for one measurement, and what PostgreSQL itself knows about it. */
import { randomBytes } from 'node:crypto';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Connection, openConnection } from '../../src/database/connection.ts';
import { acquireEmbeddedServer } from '../../src/embedded/server.ts';
import { migrateDatabase } from '../../src/database/migrate.ts';
import { processorSeconds } from './processor-time.ts';

export interface BenchServer {
  readonly description: string;
  /** Of PostgreSQL with all its processes, s; null where they are not on this machine. */
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
  /** Rows that transactions have written in schema `safety` so far. */
  rowsWritten(): Promise<number>;
  drop(): Promise<void>;
}

/** The server of DATABASE_URL, on which databases may be created, else an embedded one with its usual settings: fsync is on. */
export async function startServer(): Promise<BenchServer> {
  const named = process.env['DATABASE_URL'];
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
  return {
    description: `PostgreSQL ${version?.version}, fsync ${version?.fsync}`,
    cpuSeconds: () => (postmaster === null ? Promise.resolve(null) : processorSeconds(postmaster)),
    createWarehouse: () => createWarehouse(admin, url),
    async close() {
      await admin.close();
      await close();
    },
  };
}

async function findPostmaster(admin: Connection): Promise<number> {
  const [told] = await admin.query<{ folder: string }>(`select current_setting('data_directory') as folder`);
  const [pid] = (await readFile(join(told?.folder ?? '', 'postmaster.pid'), 'utf8')).split('\n');
  return Number(pid);
}

async function createWarehouse(admin: Connection, serverUrl: string): Promise<Warehouse> {
  const name = `safety_sync_bench_${randomBytes(6).toString('hex')}`;
  await admin.query(`create database ${name} template template0 encoding 'UTF8'`);
  const url = new URL(serverUrl);
  url.pathname = `/${name}`;
  await migrateDatabase(url.href);
  const connection = openConnection({ url: url.href, applicationName: 'bench', max: 1 });
  const one = async (text: string): Promise<number> => {
    const [row] = await connection.query<{ value: string }>(`select (${text})::text as value`);
    return Number(row?.value);
  };
  return {
    url: url.href,
    connection,
    walBytes: () => one(`select pg_current_wal_insert_lsn() - '0/0'`),
    async rowsWritten() {
      // What other sessions did is told a little later; a new snapshot of the statistics is not.
      await connection.query('select pg_stat_clear_snapshot(), pg_stat_force_next_flush()');
      return await one(
        `select coalesce(sum(n_tup_ins + n_tup_upd + n_tup_del), 0) from pg_stat_user_tables where schemaname = 'safety'`,
      );
    },
    async drop() {
      await connection.close();
      await admin.query(`drop database if exists ${name} with (force)`);
    },
  };
}
