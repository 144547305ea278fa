/** The public shape of the warehouse: relations, columns, comments, keys, and grants. */
import { getTableConfig } from 'drizzle-orm/pg-core';
import postgres from 'postgres';
import { describe, expect, test } from 'vitest';
import { STREAMS } from '../../src/engine/streams/index.ts';
import { meaningOf } from '../../src/dictionary/description.ts';
import { dictionaryOf } from '../../src/dictionary/dictionary.ts';
import { typeName } from '../../src/engine/streams/columns.ts';
import { migrateDatabase } from '../../src/warehouse/migrate.ts';
import { writeViewSettings } from '../../src/warehouse/view-settings.ts';
import { forAllTests, untilTestEnds } from '../support/lifetime.ts';
import {
  connectForTest,
  createEmptyTestDatabase,
  createRole,
  openTestDatabase,
} from '../support/test-database.ts';

const DICTIONARY = dictionaryOf(STREAMS);

const connection = forAllTests(() => openTestDatabase({ max: 2 }));

interface Column {
  readonly schema: string;
  readonly relation: string;
  readonly kind: string;
  readonly name: string;
  readonly type: string;
  readonly comment: string | null;
}

const readColumns = () =>
  connection.query<Column>(
    `select n.nspname as schema, c.relname as relation, c.relkind::text as kind, a.attname as name,
       format_type(a.atttypid, a.atttypmod) as type, col_description(c.oid, a.attnum) as comment
     from pg_attribute a join pg_class c on c.oid = a.attrelid join pg_namespace n on n.oid = c.relnamespace
     where n.nspname in ('safety', 'safety_sync') and c.relkind in ('r', 'v') and a.attnum > 0 and not a.attisdropped
     order by 1, 2, a.attnum`,
  );

test('every table, view and column has its comment from the dictionary', async () => {
  const columns = await readColumns();
  const missing = columns
    .filter(({ schema, relation, name, comment }) => {
      const description = DICTIONARY[schema as keyof typeof DICTIONARY][relation];
      return comment === null || comment !== meaningOf(description, name);
    })
    .map(({ schema, relation, name }) => `${schema}.${relation}.${name}`);
  expect(missing).toEqual([]);
  const relations = await connection.query<{ schema: string; name: string; comment: string | null }>(
    `select n.nspname as schema, c.relname as name, obj_description(c.oid, 'pg_class') as comment
       from pg_class c join pg_namespace n on n.oid = c.relnamespace
       where n.nspname in ('safety', 'safety_sync') and c.relkind in ('r', 'v')`,
  );
  for (const { schema, name, comment } of relations) {
    expect(comment, name).toBe(DICTIONARY[schema as keyof typeof DICTIONARY][name]?.comment);
    expect(comment, name).not.toBeNull();
  }
});

describe('schema safety', () => {
  test('every relation except the calendar begins with account_id, and no name needs quotes', async () => {
    const columns = (await readColumns()).filter(({ schema }) => schema === 'safety');
    const firsts = new Map(columns.toReversed().map(({ relation, name }) => [relation, name]));
    // The days are the same for all accounts.
    expect(firsts.get('calendar')).toBe('date');
    firsts.delete('calendar');
    expect(new Set(firsts.values())).toEqual(new Set(['account_id']));
    const odd = columns
      .flatMap(({ relation, name }) => [relation, name])
      .filter((one) => !/^[a-z_][a-z0-9_]*$/.test(one));
    expect(odd).toEqual([]);
    const [reserved] = await connection.query<{ words: string | null }>(
      `select string_agg(distinct word, ', ') as words from pg_get_keywords() k join pg_attribute a on a.attname = k.word
       join pg_class c on c.oid = a.attrelid where c.relnamespace = 'safety'::regnamespace and a.attnum > 0 and k.catcode in ('R', 'T')`,
    );
    expect(reserved?.words).toBeNull();
  });

  test('columns of views have types that ODBC and JDBC tools show', async () => {
    const plain = /^(text|bigint|integer|numeric|boolean|date|timestamp with time zone|uuid|jsonb)$/;
    // Superseded states keep the arrays as they were.
    const odd = (await readColumns()).filter(
      ({ schema, kind, relation, type }) =>
        schema === 'safety' && kind === 'v' && !relation.endsWith('_history') && !plain.test(type),
    );
    expect(odd).toEqual([]);
  });

  // In another order where a later migration has added one.
  test('the tables of each stream have exactly the declared columns', async () => {
    const columns = await readColumns();
    for (const { parent, children, histories } of STREAMS) {
      for (const table of [parent, ...children, ...histories.map(({ states }) => states)]) {
        const { name, columns: declared } = getTableConfig(table);
        expect(
          columns
            .filter((one) => one.relation === name)
            .map((one) => `${one.name} ${one.type}`)
            .toSorted(),
        ).toEqual(declared.map((one) => `${one.name} ${typeName(one)}`).toSorted());
      }
    }
  });
});

test('the calendar has every day from 2000-01-01 to ten years from today; a migration adds the missing ones', async () => {
  const own = untilTestEnds(await openTestDatabase());
  await own.query(`delete from safety.calendar where date > current_date - 400`);
  await migrateDatabase(own.url);
  expect(
    await own.query(
      `select min(date)::text as first, max(date) = (current_date + interval '10 years')::date as is_long,
         count(*) = max(date) - min(date) + 1 as is_whole from safety.calendar`,
    ),
  ).toEqual([{ first: '2000-01-01', is_long: true, is_whole: true }]);
  // ISO weeks belong to the year of their Thursday.
  const days = await own.query<Record<string, unknown>>(
    `select concat_ws(' ', date, iso_year, iso_week, week_starts_on, month_starts_on, quarter_starts_on, year, month, day_of_week, is_weekend)
       as day from safety.calendar where date in ('2021-01-03', '2024-12-30', '2026-08-15') order by 1`,
  );
  expect(days.map(({ day }) => day)).toEqual([
    '2021-01-03 2020 53 2020-12-28 2021-01-01 2021-01-01 2021 1 7 t',
    '2024-12-30 2025 1 2024-12-30 2024-12-01 2024-10-01 2024 12 1 f',
    '2026-08-15 2026 33 2026-08-10 2026-08-01 2026-07-01 2026 8 6 t',
  ]);
});

test('the reporting time zone of an account is kept, its change is returned, and an unknown one is refused', async () => {
  const { db } = connection;
  const write = (accountId: string, timezone: string | null) =>
    writeViewSettings(db, [{ accountId, timezone }]);
  expect(await write('east', 'Pacific/Kiritimati')).toEqual([]);
  expect(await write('west', 'Europe/Oslo')).toEqual([]);
  expect(await write('west', null)).toEqual([]);
  expect(await write('west', 'Pacific/Niue')).toEqual([
    { accountId: 'west', timezone: 'Pacific/Niue', before: 'Europe/Oslo' },
  ]);
  const [row] = await connection.query<{ zones: string; days: number }>(
    `select concat_ws(' ', safety.reporting_timezone('east'), safety.reporting_timezone('nobody'), safety.reporting_timezone()) as zones,
       (safety.reporting_today('east') - safety.reporting_today('west'))::int as days`,
  );
  expect(row?.zones).toBe('Pacific/Kiritimati UTC UTC');
  // 25 hours lie between them, so at least one midnight.
  expect([1, 2]).toContain(row?.days);
  await expect(write('x', 'Mars/Olympus')).rejects.toThrow();
});

describe('the roles of owner, loader and reader', () => {
  /** Works as this user in this database. */
  async function as<T>(url: string, user: string, work: (sql: postgres.Sql) => Promise<T>): Promise<T> {
    const sql = postgres(urlOf(url, user), { max: 1, fetch_types: false, onnotice: () => undefined });
    try {
      return await work(sql);
    } finally {
      await sql.end({ timeout: 5 });
    }
  }

  const urlOf = (url: string, user: string) =>
    Object.assign(new URL(url), { username: user, password: 'right' }).href;

  async function createUsers() {
    const empty = untilTestEnds(await openTestDatabase({}, createEmptyTestDatabase()));
    const create = () => createRole(empty, `login password 'right'`);
    const [owner, loader, reader] = [await create(), await create(), await create()];
    await empty.query(`grant create on database "${new URL(empty.url).pathname.slice(1)}" to ${owner}`);
    return { url: empty.url, owner, loader, reader };
  }

  test('an owner without the right to create roles can migrate, the loader can write, and the reader can only read schema safety', async () => {
    const { url, owner, loader, reader } = await createUsers();
    const outcome = await migrateDatabase(urlOf(url, owner));
    // All databases of this server share the role; the owner grants rights on the objects that it owns.
    expect(outcome.readerAdvice).toBeNull();
    await as(url, owner, async (sql) => {
      await sql`create table safety.made_later (account_id text)`;
      await sql.unsafe(`grant usage on schema safety, safety_sync to ${loader};
          grant select, insert, update, delete on all tables in schema safety, safety_sync to ${loader}`);
    });
    await connection.query(`grant safety_reader to ${reader}`);
    await as(url, reader, async (sql) => {
      for (const relation of ['followups', 'followup_overview', 'equipment_history', 'made_later']) {
        await expect(sql`select count(*) from safety.${sql(relation)}`).resolves.toHaveLength(1);
      }
      await expect(sql`select safety.reporting_today('default')`).resolves.toHaveLength(1);
      await expect(sql`delete from safety.users`).rejects.toMatchObject({ code: '42501' });
      await expect(sql`select from safety_sync.runs`).rejects.toMatchObject({ code: '42501' });
    });
    // The loader starts with a migration that has nothing to do but to add a day, which it was not allowed yet.
    await as(url, owner, async (sql) => {
      await sql.unsafe(
        `delete from safety.calendar where date > current_date; revoke all on safety.calendar from ${loader}`,
      );
    });
    expect(await migrateDatabase(urlOf(url, loader))).toMatchObject({ applied: 0 });
    await as(url, loader, async (sql) => {
      await sql`insert into safety.users (account_id, id, _synced_at, _run_id) values ('a', '1', now(), 1)`;
    });
    await as(url, reader, async (sql) => {
      await expect(sql`select id from safety.users`).resolves.toEqual([{ id: '1' }]);
    });
  });
});

test('a migration that waits for a lock names the session that has it, once', async () => {
  const database = await openTestDatabase();
  untilTestEnds(database);
  const holder = connectForTest(database.url, { applicationName: 'forgotten query' });
  const [session] = await holder.query<{ pid: number }>('select pg_backend_pid() as pid');
  await holder.query('begin');
  await holder.query('select from safety.followup_overview');
  await database.query(`delete from safety_sync.migrations where name = 'followup_overview'`);
  const warnings: string[] = [];
  const migrated = migrateDatabase(database.url, { warn: (message) => warnings.push(message) });
  await expect.poll(() => warnings.join('\n')).toMatch('forgotten query');
  await holder.query('commit');
  await expect(migrated).resolves.toMatchObject({ applied: 1 });
  expect(warnings).toHaveLength(1);
  expect(warnings[0]).toContain(`select pg_terminate_backend(${session?.pid})`);
});
