import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import postgres from 'postgres';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import { findPostmaster, stopPostmaster } from '../../src/embedded/postmaster.ts';
import { acquireEmbeddedServer, type EmbeddedServer } from '../../src/embedded/server.ts';
import { startEmbeddedUser } from '../support/embedded-user.ts';
import { makeTestFolder } from '../support/test-folder.ts';
import { inProof } from '../support/proof.ts';

/** Only one test waits for the disk (fsync). */
const FAST = { database: 'warehouse', postgresOptions: { fsync: 'off' } } as const;

/** Data of a server that ran and stopped, because creating it takes most of the time of a first start. */
let template: string;
let parent: string;
let dataDir: string;
let pgData: string;

beforeAll(async () => {
  template = await makeTestFolder('safety-sync-embedded-');
  await (await acquireEmbeddedServer({ ...FAST, dataDir: template })).release();
});

afterAll(async () => {
  await rm(template, { recursive: true, force: true });
});

beforeEach(async () => {
  // 0700 is the hardest case for root, because its PostgreSQL runs as another user.
  parent = await makeTestFolder('safety-sync-embedded-');
  dataDir = join(parent, '.data', 'postgres');
  pgData = join(dataDir, 'cluster', 'data');
});

afterEach(async () => {
  const left = await findPostmaster(pgData);
  if (typeof left === 'object') await stopPostmaster(pgData, left.pid);
  await rm(parent, { recursive: true, force: true });
});

const acquire = (): Promise<EmbeddedServer> => acquireEmbeddedServer({ ...FAST, dataDir });

/** Keeps owners and permissions, which PostgreSQL checks. */
async function copyTemplate(): Promise<void> {
  await mkdir(dirname(dataDir), { recursive: true });
  await promisify(execFile)('cp', ['-a', template, dataDir]);
}

async function ask(url: string, statement: string): Promise<unknown> {
  const sql = postgres(url, { max: 1, fetch_types: false, onnotice: () => undefined });
  try {
    const [row] = await sql.unsafe(statement).values();
    return row?.[0];
  } finally {
    await sql.end();
  }
}

async function runningPid(): Promise<number> {
  const found = await findPostmaster(pgData);
  if (typeof found !== 'object') throw new Error('no server runs');
  return found.pid;
}

it('the embedded server starts in an empty directory, serves over loopback with a password, and stops after the release', async () => {
  const server = await acquireEmbeddedServer({ dataDir, database: 'warehouse' });
  expect(server.joined).toBe(false);
  expect(server.url).toMatch(/^postgres:\/\/safety_sync:[0-9a-f]{48}@127\.0\.0\.1:\d+\/warehouse$/);
  expect(await ask(server.url, 'select current_database()')).toBe('warehouse');
  expect(await ask(server.url, 'show server_encoding')).toBe('UTF8');
  expect(await ask(server.url, 'show fsync')).toBe('on');
  expect(await ask(server.url, 'show listen_addresses')).toBe('127.0.0.1');
  await expect(ask(server.url.replace(/:[0-9a-f]{48}@/, ':wrong@'), 'select 1')).rejects.toMatchObject({
    code: '28P01',
  });
  expect((await stat(join(dataDir, 'cluster', 'password'))).mode & 0o777).toBe(0o600);
  await server.release();
  expect(existsSync(join(pgData, 'postmaster.pid'))).toBe(false);
  await expect(ask(server.url, 'select 1')).rejects.toMatchObject({ code: 'ECONNREFUSED' });
});

it('the embedded server survives the kill -9 of the process that started it, and the next process joins and stops it', async () => {
  await copyTemplate();
  const starter = await startEmbeddedUser(dataDir);
  await starter.kill('SIGKILL');
  const next = await acquire();
  expect(next.joined).toBe(true);
  expect(next.url).toBe(starter.url);
  await next.release();
  expect(await findPostmaster(pgData)).toBeUndefined();
});

it('the embedded server starts again with all committed rows after it was killed', async () => {
  await copyTemplate();
  const before = await acquire();
  await ask(before.url, 'create table kept as select 42 as answer');
  process.kill(await runningPid(), 'SIGKILL');
  const after = await acquire();
  expect(after.joined).toBe(false);
  expect(await ask(after.url, 'select answer from kept')).toBe(42);
  await before.release();
  expect(await ask(after.url, 'select answer from kept')).toBe(42);
  await after.release();
  expect(await findPostmaster(pgData)).toBeUndefined();
});

it('the embedded server starts despite a pid file with the id of another process', async () => {
  await copyTemplate();
  const lines = [String(process.pid), pgData, '1700000000', '5432', '', '127.0.0.1', '', 'ready'];
  await writeFile(join(pgData, 'postmaster.pid'), `${lines.join('\n')}\n`);
  const server = await acquire();
  expect(server.joined).toBe(false);
  expect(await ask(server.url, 'select 1')).toBe(1);
  await server.release();
});

inProof(() => {
  it('two processes that start at the same instant start one embedded server', async () => {
    const users = await Promise.all([startEmbeddedUser(dataDir), startEmbeddedUser(dataDir)]);
    expect(users.map(({ joined }) => joined).sort()).toEqual([false, true]);
    expect(users[0].url).toBe(users[1].url);
    await Promise.all(users.map((user) => user.release()));
    expect(await findPostmaster(pgData)).toBeUndefined();
  });
});

it('the embedded server refuses data of another major version of PostgreSQL with an error that contains the version', async () => {
  await copyTemplate();
  await writeFile(join(pgData, 'PG_VERSION'), '14\n');
  await expect(acquire()).rejects.toMatchObject({
    code: 'embedded_unavailable',
    message: expect.stringContaining('was written by PostgreSQL 14') as string,
  });
  expect(await readFile(join(pgData, 'PG_VERSION'), 'utf8')).toBe('14\n');
});
