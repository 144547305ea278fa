/** Backup and restore with the commands of docs/operations.md, run by a shell. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test, type TestContext } from 'vitest';
import { migrateDatabase } from '../../src/warehouse/migrate.ts';
import { forAllTests } from '../support/lifetime.ts';
import { connectForTest, createEmptyTestDatabase } from '../support/test-database.ts';
import { createTestWorker } from '../support/world.ts';

const operations = readFileSync(new URL('../../docs/operations.md', import.meta.url), 'utf8');
const blocks = [
  ...(operations.split('## Back up and restore')[1]?.split('\n## ')[0] ?? '').matchAll(/```sh\n([^`]*)```/g),
];
const [backUp = '', restore = ''] = blocks.map((match) => match[1] ?? '');

const folder = mkdtempSync(join(tmpdir(), 'safety-sync-restore-'));
const worker = forAllTests(() =>
  createTestWorker({
    sandbox: { seed: 8, size: { followups: 200, employees: 40, equipment: 40 } },
  }),
);
beforeAll(async () => {
  await worker.syncAll();
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function run(commands: string, databaseUrl: string): void {
  const { status, stderr } = spawnSync('sh', ['-e', '-c', commands.replace(/^export OWNER_URL=.*$/m, '')], {
    cwd: folder,
    env: { ...process.env, OWNER_URL: databaseUrl },
    encoding: 'utf8',
  });
  expect(stderr.split('\n').filter((line) => /error|fatal/i.test(line))).toEqual([]);
  expect(status).toBe(0);
}

/** pg_dump refuses servers that are newer than itself. */
async function needClients(context: TestContext): Promise<void> {
  const { stdout, error } = spawnSync('pg_dump', ['--version'], { encoding: 'utf8' });
  if (error !== undefined) context.skip('there is no pg_dump on this machine');
  const [server] = await worker.query<{ version: number }>(
    `select current_setting('server_version_num')::int / 10000 as version`,
  );
  const client = Number(/(\d+)/.exec(stdout)?.[1]);
  if (client < Number(server?.version)) {
    context.skip(`pg_dump ${client} is older than the server, PostgreSQL ${String(server?.version)}`);
  }
}

/** One hash of all rows per table and view. */
async function fingerprint(databaseUrl: string): Promise<Record<string, string>> {
  const connection = connectForTest(databaseUrl);
  const relations = await connection.query<{ name: string }>(
    `select schemaname || '.' || tablename as name from pg_tables where schemaname in ('safety', 'safety_sync')
       union all select 'safety.' || viewname from pg_views where schemaname = 'safety' and viewname <> 'freshness' order by 1`,
  );
  const hashes: Record<string, string> = {};
  for (const { name } of relations) {
    const [row] = await connection.query<{ hash: string }>(
      `select count(*) || ' ' || md5(string_agg(r::text, E'\\n' order by r::text)) as hash from ${name} r`,
    );
    hashes[name] = row?.hash ?? '';
  }
  return hashes;
}

test('a backup restores all tables and views, over an existing warehouse and into an empty database', async (context) => {
  await needClients(context);
  const url = worker.databaseUrl;
  const before = await fingerprint(url);
  expect(Object.keys(before).length).toBeGreaterThan(40);
  run(backUp, url);

  // Rows are changed and deleted, and a newer version adds objects.
  await worker.query(`update safety.followups set is_open = false`);
  await worker.query(`delete from safety.users`);
  await worker.query(`create table safety.of_a_newer_version (account_id text)`);
  run(restore, url);
  expect(await fingerprint(url)).toEqual(before);

  const empty = await createEmptyTestDatabase();
  try {
    run(restore, empty.url);
    expect(await fingerprint(empty.url)).toEqual(before);
    // As at the next start: no migration is pending, and safety_reader can read again.
    expect(await migrateDatabase(empty.url)).toMatchObject({
      applied: 0,
      reader: { exists: true, isLacking: false },
    });
  } finally {
    await empty.drop();
  }
});
