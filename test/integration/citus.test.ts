/**
 * The warehouse on a Citus cluster. `TEST_CITUS_URL`: a superuser's URL of a coordinator; its database has the extension and the workers. Without it a container of TEST_CITUS_IMAGE, which is coordinator and node in one; where there is no Docker
 * engine these tests are skipped. All other tests of a database run on Citus too, when `TEST_DATABASE_URL` is a coordinator
 * with workers.
 */
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import postgres from 'postgres';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { migrateDatabase } from '../../src/warehouse/migrate.ts';
import { writeViewSettings } from '../../src/warehouse/view-settings.ts';
import { readRuns } from '../../src/engine/control-tables/runs.ts';
import { cancelForgetting, forgetPerson } from '../../src/engine/sync/forget.ts';
import { readAccounts } from '../../src/operate/status/read-accounts.ts';
import { STREAM_NAMES } from '../../src/engine/streams/index.ts';
import { inDatabase, joinCluster, nodesOf } from '../support/citus-nodes.ts';
import { provideCoordinator } from '../support/postgres-server.ts';
import { expectWarehouseEqualsSource } from '../support/source-oracle.ts';
import { createEmptyTestDatabase, type TestDatabase } from '../support/test-database.ts';
import { createTestWorker, expectSucceeded, SMALL_SANDBOX, type TestWorker } from '../support/world.ts';

const server = await provideCoordinator(process.env, (line) => process.stdout.write(`citus: ${line}\n`));
const COORDINATOR = server?.url ?? '';
const HAS_NODES = server !== undefined;
const HAS_WORKERS = HAS_NODES && (await nodesOf(COORDINATOR)).length > 1;
afterAll(() => server?.stop());

async function ask(url: string, text: string): Promise<readonly Readonly<Record<string, unknown>>[]> {
  const sql = postgres(url, { max: 1, onnotice: () => undefined });
  try {
    return await sql.unsafe(text);
  } finally {
    await sql.end({ timeout: 5 });
  }
}

/** An empty database on every node. `urls`: of each node, the coordinator's first. */
async function createClusterDatabase(): Promise<TestDatabase & { readonly urls: readonly string[] }> {
  const nodes = await nodesOf(COORDINATOR);
  const name = `safety_sync_citus_${randomBytes(6).toString('hex')}`;
  for (const node of nodes) await ask(node, `create database ${name} encoding 'UTF8' template template0`);
  await joinCluster(nodes, name);
  const urls = nodes.map((node) => inDatabase(node, name));
  return {
    url: urls[0] ?? '',
    urls,
    drop: async () => {
      for (const node of nodes) await ask(node, `drop database if exists ${name} with (force)`);
    },
  };
}

test('migrate --citus refuses a PostgreSQL without the extension, and creates no schema', async () => {
  const database = await createEmptyTestDatabase();
  try {
    await expect(migrateDatabase(database.url, { onCitus: true })).rejects.toMatchObject({
      code: 'citus_unfit',
    });
    expect(await ask(database.url, `select from pg_namespace where nspname = 'safety'`)).toHaveLength(0);
  } finally {
    await database.drop();
  }
});

describe.skipIf(!HAS_NODES)('on a Citus cluster', () => {
  let database: Awaited<ReturnType<typeof createClusterDatabase>>;
  let north: TestWorker;
  let south: TestWorker;
  const workers = () => [north, south];
  const syncAll = async () => {
    for (const worker of workers()) await worker.syncAll();
  };

  beforeAll(async () => {
    database = await createClusterDatabase();
    const keep = { url: database.url, drop: () => Promise.resolve() };
    north = await createTestWorker({
      database: keep,
      sandbox: { seed: 3, size: SMALL_SANDBOX },
      settings: { accountId: 'north' },
    });
    south = await createTestWorker({
      database: keep,
      sandbox: { seed: 8, size: SMALL_SANDBOX },
      settings: { accountId: 'south' },
    });
  });
  afterAll(async () => {
    for (const worker of workers()) await worker.close();
    await database.drop();
  });

  const ofAccount = (worker: TestWorker): TestWorker => ({
    ...worker,
    settings: { ...worker.settings, equipmentTypes: worker.sandbox.equipmentTypes },
    query: (text) =>
      worker.query(
        text.replace(
          /from safety\.(\w+)( \w+)?/g,
          (_, table: string, alias = ' t') =>
            `from (select * from safety.${table} where account_id = '${worker.settings.accountId}')${alias}`,
        ),
      ),
  });

  test('migrate --citus distributes a warehouse with its rows, grants and comments, and a repetition changes nothing', async () => {
    await migrateDatabase(database.url);
    await ask(
      database.url,
      `do $$ begin create role safety_reader nologin; exception when duplicate_object then null; end $$`,
    );
    await syncAll();
    const read = (text: string) => north.query<{ value: string }>(text);
    const rows = `select count(*)::text || md5(string_agg(_raw::text, ' ' order by account_id, id)) as value from safety.followups`;
    const comments = `select count(*)::text as value from pg_description where classoid = 'pg_class'::regclass
      and objoid in (select oid from pg_class where relnamespace in ('safety'::regnamespace, 'safety_sync'::regnamespace))`;
    const grants = `select string_agg(relname || relacl::text, ' ' order by relname) as value from pg_class where relnamespace = 'safety'::regnamespace and relkind in ('r', 'v')`;
    const before = [await read(rows), await read(comments), await read(grants)];
    expect((await migrateDatabase(database.url, { onCitus: true })).distributed).toContain(
      'safety_sync.runs',
    );
    expect([await read(rows), await read(comments), await read(grants)]).toEqual(before);
    expect(await read(`select pg_relation_size('safety.followups')::text as value`)).toEqual([
      { value: '0' },
    ]);
    expect((await migrateDatabase(database.url, { onCitus: true })).distributed).toEqual([]);
  }, 240_000); // thirty tables in shards: a minute and a half in a container on a busy machine

  test('after changes, deletions and returns the warehouse equals the source, and histories have neither gap nor overlap', async () => {
    for (let round = 0; round < 3; round += 1) {
      for (const worker of workers()) worker.sandbox.live.step(40);
      await syncAll();
    }
    for (const worker of workers()) {
      for (const stream of STREAM_NAMES) expectSucceeded(await worker.run(stream, { kind: 'reconcile' }));
      await expectWarehouseEqualsSource(ofAccount(worker));
    }
  }, 240_000);

  test('status, runs and safety.freshness return rows of every account', async () => {
    const { accounts } = await readAccounts(north.connection, ['north', 'south']);
    for (const { streams } of accounts.values())
      expect(streams.map(({ lastSuccessMs }) => lastSuccessMs === null)).toEqual(
        STREAM_NAMES.map(() => false),
      );
    expect(await readRuns(north.connection.db, ['north', 'south'], { limit: 7 })).toHaveLength(7);
    expect(await north.query('select from safety.freshness')).toHaveLength(2 * STREAM_NAMES.length);
    expect((await north.query('select from safety.people')).length).toBeGreaterThan(10);
  });

  test('a time zone and a link are set, and changed', async () => {
    const { db } = north.connection;
    const set = (timezone: string, followup: string) =>
      writeViewSettings(db, [{ accountId: 'north', timezone }], { followup });
    await set('Europe/Oslo', 'https://one.example/{id}');
    await set('UTC', 'https://other.example/{id}');
    expect(
      await north.query(
        `select timezone, followup_url from safety.reporting_settings where account_id = 'north'`,
      ),
    ).toEqual([{ timezone: 'UTC', followup_url: 'https://other.example/{id}' }]);
  });

  test('every relation for readers and every question of the documents is answered, over all accounts and for one', async () => {
    const names = await north.query<{ name: string }>(
      `select c.relname as name from pg_class c where c.relnamespace = 'safety'::regnamespace and c.relkind in ('r', 'v')`,
    );
    const questions = readFileSync(new URL('../../docs/questions.md', import.meta.url), 'utf8');
    const asked = [
      ...names.map(({ name }) => `select * from safety.${name} limit 1`),
      ...names
        .filter(({ name }) => name !== 'calendar')
        .map(({ name }) => `select * from safety.${name} where account_id = 'north' limit 1`),
      ...[...questions.matchAll(/```sql\n([^`]*)```/g)].map(([, question = '']) => question),
    ];
    const refused: string[] = [];
    for (const text of asked) {
      await north.query(text).catch((error: unknown) => refused.push(`${text}: ${String(error)}`));
    }
    expect(refused).toEqual([]);
  }, 240_000);

  test('a person is forgotten, and notes are cleaned from what is stored', async () => {
    const [person] = await south.query<{ id: string }>(
      `select assignee_id as id from safety.followups where account_id = 'south' and assignee_id <> '' limit 1`,
    );
    const privacy = {
      omit: ['followup_messages.note'],
      pseudonymize: [],
      key: 'a key of at least 32 characters, so',
    };
    const context = { ...south.context, privacy };
    const { pseudonym } = await forgetPerson(context, person?.id ?? '');
    const left = await south.query<{ ids: number; notes: number }>(
      `select (select count(*)::int from safety.followups where account_id = 'south' and assignee_id = '${person?.id ?? ''}') as ids,
        (select count(note)::int from safety.followup_messages where account_id = 'south') as notes`,
    );
    expect(left).toEqual([{ ids: 0, notes: 0 }]);
    expect(await cancelForgetting(context, person?.id ?? '')).toBe(pseudonym);
  }, 120_000);

  test('a loader that is no superuser needs only usage on the schemas and rights on the tables', async () => {
    const role = `loader_${randomBytes(4).toString('hex')}`;
    const url = new URL(database.url);
    await ask(database.url, `create role ${role} login password '${role}'`);
    await ask(database.url, `grant usage on schema safety, safety_sync to ${role}`);
    await ask(
      database.url,
      `grant select, insert, update, delete on all tables in schema safety, safety_sync to ${role}`,
    );
    Object.assign(url, { username: role, password: role });
    const loader = await createTestWorker({
      database: { url: url.href, drop: () => Promise.resolve() },
      settings: { accountId: 'loader' },
    });
    try {
      await loader.syncAll();
      loader.sandbox.live.step(40);
      await loader.syncAll();
    } finally {
      await loader.close();
      await ask(database.url, `drop owned by ${role}`);
      await ask(database.url, `drop role ${role}`);
    }
  });

  test.skipIf(!HAS_WORKERS)('migrate --citus is refused on a worker node', async () => {
    const [, node = ''] = database.urls;
    await expect(migrateDatabase(node, { onCitus: true })).rejects.toMatchObject({ code: 'citus_unfit' });
  });
});
