/** Readers that are confined to accounts see those only, through every table and every view; a new one cannot be forgotten. */
import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, inject, onTestFinished, test as anyTest } from 'vitest';
import { migrateDatabase } from '../../src/warehouse/migrate.ts';
import { runInProcess, type Said } from '../support/in-process.ts';
import { untilTestEnds } from '../support/lifetime.ts';
import { createTestDatabase } from '../support/test-database.ts';
import { createTestWorker, expectSucceeded, type TestWorker } from '../support/world.ts';

const SIZE = { followups: 60, employees: 20, equipment: 25, resources: 10, users: 15 };
const ACCOUNTS = ['north', 'south', 'east'];
const suffix = randomBytes(4).toString('hex');
const role = (name: string): string => `${name}_${suffix}`;
const NORTH = role('north_bi');
const TWO = role('two_bi');
const LOGIN = role('login_of_north');
const ALL = role('all_bi');
const LOADER = role('loader');
const OWNER = 'none';
const ROLES = [NORTH, TWO, LOGIN, ALL, LOADER];

/** On Citus and before PostgreSQL 15, the first that clones by one of two strategies, no role can be confined. */
const isUnfit = inject('testServerNodes').length > 1 || inject('testCloneStrategy') === '';
const test = anyTest.skipIf(isUnfit);

let worker: TestWorker;

/** A row for an empty table with any columns. */
const SAMPLE = `select json_object_agg(a.attname, case t.typcategory when 'N' then '1' when 'B' then 'true' when 'D' then '2026-03-01'
    when 'A' then '{}' when 'U' then case t.typname when 'uuid' then '00000000-0000-0000-0000-000000000000' else '{}' end
    else 'x' end)::text as row
  from pg_attribute a join pg_type t on t.oid = a.atttypid where a.attrelid = $1::text::regclass and a.attnum > 0 and not a.attisdropped`;

const TABLES = `select format('%I.%I', n.nspname, c.relname) as name from pg_class c join pg_namespace n on n.oid = c.relnamespace
  where n.nspname in ('safety', 'safety_sync') and c.relkind = 'r' and exists (select from pg_attribute a
    where a.attrelid = c.oid and a.attname = 'account_id') order by 1`;

/** The other accounts have what the first one has. */
async function copyAccounts(): Promise<void> {
  const tables = await worker.query<{ name: string }>(TABLES);
  await worker.connection.db.transaction(async (tx) => {
    await tx.execute(`set local session_replication_role = 'replica'`);
    for (const { name } of tables) {
      const [found] = await tx.execute(`select from ${name} where account_id = 'north' limit 1`);
      if (found === undefined) {
        const [sample] = await worker.connection.query<{ row: string }>(SAMPLE, [name]);
        const text = (sample?.row ?? '').replaceAll("'", "''");
        await tx.execute(
          `insert into ${name} overriding system value select (jsonb_populate_record(null::${name}, '${text}'::jsonb || '{"account_id": "north"}')).*`,
        );
      }
      for (const account of ['south', 'east'])
        await tx.execute(
          `insert into ${name} overriding system value select (jsonb_populate_record(t, '{"account_id": "${account}"}')).* from ${name} t where account_id = 'north'`,
        );
    }
  });
}

beforeAll(async () => {
  if (isUnfit) return;
  worker = await createTestWorker({ sandbox: { seed: 3, size: SIZE }, settings: { accountId: 'north' } });
  for (const name of ROLES) await worker.query(`create role ${name} login password '${suffix}'`);
  for (let round = 0; round < 2; round += 1) {
    await worker.syncAll();
    worker.sandbox.live.step(80);
  }
  await worker.query(`insert into safety.reporting_settings values ('north', 'UTC', now())`);
  await worker.query(`insert into safety.labels values ('north', 'form', '1201', 'Walk', null)`);
  await copyAccounts();
  await worker.query('analyze');
  await worker.query(`grant ${NORTH} to ${LOGIN}`);
  await worker.query(`grant safety_reader to ${ALL}`);
});
afterAll(async () => {
  if (isUnfit) return;
  for (const name of ROLES) await worker.query(`drop owned by ${name}`);
  for (const name of ROLES) await worker.query(`drop role ${name}`);
  await worker.close();
});

const access = (args: string): Promise<Said> =>
  runInProcess(['access', ...args.split(' ').filter((one) => one !== '')], {
    DATABASE_URL: worker.databaseUrl,
    SAFETY_ACCOUNT: 'new',
  });

/** Grants the loader what it needs; returns its database URL. */
async function letLoad(): Promise<string> {
  await worker.query(`grant usage on schema safety, safety_sync to ${LOADER}`);
  await worker.query(
    `grant select, insert, update, delete on all tables in schema safety, safety_sync to ${LOADER}`,
  );
  return Object.assign(new URL(worker.databaseUrl), { username: LOADER, password: suffix }).href;
}

async function as<Row>(reader: string, text: string, before?: string): Promise<readonly Row[]> {
  return await worker.connection.db.transaction(async (tx) => {
    await tx.execute(`set local role ${reader}`);
    if (before !== undefined) await tx.execute(before);
    return (await tx.execute(text)) as unknown as readonly Row[];
  });
}

interface Seen {
  readonly relation: string;
  readonly account: string;
  readonly rows: number;
}

/** The rows of each account that this reader sees, per relation of the schema. */
async function seenBy(reader: string, before?: string): Promise<readonly Seen[]> {
  const relations = await worker.query<{ name: string }>(
    `select c.relname as name from pg_class c where c.relnamespace = 'safety'::regnamespace and c.relkind in ('r', 'v', 'm', 'p', 'f')
       and exists (select from pg_attribute a where a.attrelid = c.oid and a.attname = 'account_id') order by 1`,
  );
  const parts = relations.map(
    ({ name }) =>
      `select '${name}' as relation, account_id as account, count(*)::int as rows from safety.${name} group by account_id`,
  );
  return await as<Seen>(reader, `${parts.join(' union all ')} order by 1, 2`, before);
}

/** Relations with a policy, and relations that confine themselves. */
const SOME = ['followup_overview', 'freshness', 'people'];

async function expectAccounts(
  reader: string,
  accounts: readonly string[],
  relations: readonly string[] = SOME,
): Promise<void> {
  for (const relation of relations) {
    const rows = await as<{ account: string }>(
      reader,
      `select distinct account_id as account from safety.${relation} order by 1`,
    );
    expect(rows.map(({ account }) => account)).toEqual(accounts.toSorted());
  }
}

anyTest.runIf(isUnfit)('on Citus and PostgreSQL 14, access grant is refused with the reason', async () => {
  const database = await createTestDatabase();
  const said = await runInProcess(['access', 'grant', 'safety_reader', '--account', 'new'], {
    DATABASE_URL: database.url,
    SAFETY_ACCOUNT: 'new',
  });
  expect(said.stderr).toMatch(/^access_unsupported: (Citus|PostgreSQL 14)/m);
  await database.drop();
});

test('before the first grant there is no policy, and access reports that no role is confined', async () => {
  const { code, stdout } = await access('');
  expect(stdout).toBe('No role is confined. To confine one: safety-sync access grant ROLE --account NAME\n');
  expect(code).toBe(0);
  const [found] = await worker.query<{ count: number }>(`select count(*)::int as count from pg_policy`);
  expect(found?.count).toBe(0);
  await expectAccounts(ALL, ACCOUNTS);
});

test('two confined readers see only their accounts through every relation, and an unconfined reader sees all accounts', async () => {
  const granted = await access(`grant ${NORTH} --account north`);
  expect(granted.stderr).toBe('');
  expect(granted.stdout).toBe(
    `${NORTH} reads north and nothing else, through every table and view of schema safety.\n`,
  );
  await access(`grant ${TWO} --account south east`);
  const all = await seenBy(OWNER);
  const relations = new Set(all.map(({ relation }) => relation));
  const [there] = await worker.query<{ relations: number }>(
    `select count(*)::int as relations from pg_class where relnamespace = 'safety'::regnamespace and relkind in ('r', 'v')`,
  );
  // calendar has no account. A relation without rows would show nothing of what it hides.
  expect(relations.size).toBe((there?.relations ?? 0) - 1);
  const sees: Record<string, string[]> = { [NORTH]: ['north'], [TWO]: ['south', 'east'], [ALL]: ACCOUNTS };
  for (const [reader, accounts] of Object.entries(sees))
    expect(await seenBy(reader)).toEqual(all.filter(({ account }) => accounts.includes(account)));
  expect(await as(NORTH, 'select from safety.calendar limit 1')).toHaveLength(1);
});

test('a login that inherits from a confined role sees only the accounts of that role; a second grant adds one, a revoke removes it', async () => {
  await expectAccounts(LOGIN, ['north']);
  await access(`grant ${NORTH} --account east`);
  await expectAccounts(LOGIN, ['north', 'east']);
  expect((await access(`revoke ${NORTH} --account east`)).stdout).toBe(
    `${NORTH} reads north and nothing else, through every table and view of schema safety.\n`,
  );
  await expectAccounts(LOGIN, ['north']);
});

test('a view that a migration replaced and a table that it created are confined when the migration ends', async () => {
  const [view] = await worker.query<{ text: string }>(
    `select pg_get_viewdef('safety.resource_tags') as text`,
  );
  await worker.query(`create or replace view safety.resource_tags as ${view?.text ?? ''}`);
  await worker.query('create table safety.brand_new (account_id text not null, id text)');
  await worker.query(`insert into safety.brand_new select unnest('{north,south,east}'::text[]), 'x'`);
  onTestFinished(async () => {
    await worker.query('drop table safety.brand_new');
  });
  await expect(as(NORTH, 'select from safety.brand_new')).rejects.toThrow();
  await migrateDatabase(worker.databaseUrl);
  const relations = ['brand_new', 'resource_tags', ...SOME];
  await expectAccounts(NORTH, ['north'], relations);
  await expectAccounts(TWO, ['south', 'east'], relations);
  await expectAccounts(ALL, ACCOUNTS, relations);
});

test('a condition in the query of a confined reader is never evaluated on rows of other accounts, because its error would show them', async () => {
  const relations = new Set((await seenBy(NORTH)).map(({ relation }) => relation));
  expect(relations).toContain('freshness');
  expect(relations).toContain('people');
  for (const relation of relations) {
    const text = `select count(*)::int as rows from safety.${relation} where 1 / (case when account_id in ('south', 'east') then 0 else 1 end) = 1`;
    const [seen] = await as<{ rows: number }>(NORTH, text);
    expect(seen?.rows, relation).toBeGreaterThan(0);
  }
});

test('a confined reader that puts other operators and functions in front of those of PostgreSQL sees no additional row', async () => {
  const mine = role('north_own');
  await worker.query(`create schema ${mine} authorization ${NORTH}`);
  const front = `set local search_path = ${mine}, pg_catalog, safety`;
  onTestFinished(async () => {
    await worker.query(`drop schema ${mine} cascade`);
  });
  await as(
    NORTH,
    `create function ${mine}.eq(text, text) returns bool language sql as 'select true';
       create function ${mine}.ne(text, text) returns bool language sql as 'select false';
       create operator ${mine}.= (leftarg = text, rightarg = text, procedure = ${mine}.eq);
       create operator ${mine}.<> (leftarg = text, rightarg = text, procedure = ${mine}.ne);
       create function ${mine}.array_agg(text) returns text[] language sql as $$ select '{north,south,east}'::text[] $$;
       create function ${mine}.now() returns timestamptz language sql as $$ select 'epoch'::timestamptz $$`,
  );
  const own = await seenBy(NORTH);
  expect(await seenBy(NORTH, front)).toEqual(own);
  const settings = `select safety.readable_accounts()::pg_catalog.text as accounts, safety.reporting_timezone('south') as foreign,
      safety.reporting_today('north') operator(pg_catalog.=) pg_catalog.timezone('UTC', pg_catalog.now())::date as is_today,
      safety.reporting_today() operator(pg_catalog.=) pg_catalog.timezone('UTC', pg_catalog.now())::date as is_today_of_all`;
  expect(await as(NORTH, settings, front)).toEqual([
    { accounts: '{north}', foreign: 'UTC', is_today: true, is_today_of_all: true },
  ]);
});

test('a table or a view of another schema that was made in the schema by hand is not granted to a confined role', async () => {
  await worker.query('create table safety.by_hand as select id from safety.followups');
  await worker.query('create schema elsewhere create table sites (id int)');
  await worker.query(
    'create view safety.sites as select f.account_id from safety.followups f cross join elsewhere.sites',
  );
  try {
    await access(`grant ${NORTH} --account north`);
    for (const name of ['by_hand', 'sites'])
      await expect(as(NORTH, `select from safety.${name}`)).rejects.toThrow();
    expect((await access('')).code).toBe(0);
    await worker.query(`grant select on safety.by_hand to ${NORTH}`);
    const found = await access('');
    expect(found.stdout).toContain(`${NORTH} may read safety.by_hand, which no policy confines`);
    expect(found.code).toBe(1);
  } finally {
    await worker.query('drop schema elsewhere cascade');
    await worker.query('drop table safety.by_hand');
  }
});

test('access lists confined roles with their accounts, and reports rights by which they see more, and what is missing', async () => {
  const clean = await access('');
  expect(clean.code).toBe(0);
  expect(clean.stdout).toMatch(new RegExp(`^${NORTH} +north\n${TWO} +east, south$`, 'm'));
  await worker.query(`grant safety_reader to ${LOGIN}`);
  await worker.query(`drop policy accounts on safety.labels`);
  const torn = await access('--json');
  expect((JSON.parse(torn.stdout) as { problems: string[] }).problems).toEqual([
    expect.stringMatching(
      /^not in force: create policy accounts on safety.labels; as the owner: safety-sync migrate$/,
    ),
    `${LOGIN}, a member of ${NORTH}, can become safety_reader, and see what that one sees; take that right away`,
  ]);
  expect(torn.code).toBe(1);
  await worker.query(`revoke safety_reader from ${LOGIN}`);
  await migrateDatabase(worker.databaseUrl);
  expect((await access('')).code).toBe(0);
  await expectAccounts(TWO, ['south', 'east']);
});

describe('access grant and revoke', () => {
  test.each([
    [
      'a grant to a role that does not exist',
      () => `grant nobody_${suffix} --account north`,
      /this server has no role nobody_/,
    ],
    [
      'a grant of an account that does not exist',
      () => `grant ${NORTH} --account west`,
      /no account is named west; there are: east, new, north, south/,
    ],
    [
      'a grant to safety_reader',
      () => 'grant safety_reader --account north',
      /is the role of those who see every account/,
    ],
  ])('%s is refused with the reason', async (_, args, said) => {
    const { code, stderr } = await access(args());
    expect(stderr).toMatch(said);
    expect(code).toBe(2);
  });

  test('a grant to a role with superuser, bypassrls or createrole is refused, because policies would not confine it', async () => {
    for (const attribute of ['superuser', 'bypassrls', 'createrole']) {
      await worker.query(`alter role ${LOGIN} ${attribute}`);
      expect((await access(`grant ${LOGIN} --account north`)).stderr).toContain(
        `${LOGIN} cannot be confined`,
      );
      // A superuser is no member of anything.
      if (attribute !== 'superuser')
        expect((await access('')).stdout).toContain(`${LOGIN}, a member of ${NORTH}, `);
      await worker.query(`alter role ${LOGIN} no${attribute}`);
    }
  });

  test('a grant to a role that may read the control tables, or a member of safety_reader, is refused', async () => {
    await worker.query(`grant usage on schema safety_sync to ${LOGIN}`);
    expect((await access(`grant ${LOGIN} --account north`)).stderr).toContain(
      `${LOGIN} cannot be confined: it may read schema safety_sync`,
    );
    await worker.query(`revoke usage on schema safety_sync from ${LOGIN}`);
    expect((await access(`grant ${ALL} --account north`)).stderr).toContain(
      `${ALL} cannot be confined: it can become safety_reader`,
    );
  });

  test('a role that reads the schema by another grant stays confined to no account when all are revoked', async () => {
    await worker.query(`revoke safety_reader from ${ALL}`);
    expect((await access(`grant ${ALL} --account south`)).code).toBe(0);
    await worker.query(`grant safety_reader to ${ALL}`);
    await expectAccounts(ALL, ['south']);
    await access(`revoke ${ALL}`);
    await expectAccounts(ALL, []);
    await worker.query(`revoke safety_reader from ${ALL}`);
    await access(`revoke ${ALL}`);
    await worker.query(`grant safety_reader to ${ALL}`);
    await expectAccounts(ALL, ACCOUNTS);
  });
});

test('a loader that is not the owner stores records in tables with policies, although COPY into such tables is not possible', async () => {
  const url = await letLoad();
  await worker.query(`grant temporary on database ${new URL(url).pathname.slice(1)} to ${LOADER}`);
  const loader = untilTestEnds(
    await createTestWorker({
      database: { url, drop: () => Promise.resolve() },
      sandbox: { size: SIZE },
      settings: { accountId: 'loaded' },
    }),
  );
  expectSucceeded(await loader.run('followups', { force: true }));
  const [stored] = await loader.query<{ followups: number }>(
    `select count(*)::int as followups from safety.followups where account_id = 'loaded'`,
  );
  expect(stored?.followups).toBe(60);
  await expectAccounts(NORTH, ['north']);
});

test('after all accounts of a role are revoked it reads nothing, and after the last role no table has a policy', async () => {
  for (const name of [NORTH, TWO]) {
    const { stdout } = await access(`revoke ${name}`);
    expect(stdout).toBe(`${name} reads nothing of schema safety any more.\n`);
    await expect(as(name, 'select from safety.followup_overview')).rejects.toThrow();
  }
  expect(await worker.query(`select from pg_policy`)).toEqual([]);
  expect(await worker.query(`select from pg_class where relrowsecurity`)).toEqual([]);
  await expectAccounts(ALL, [...ACCOUNTS, 'loaded']);
});
