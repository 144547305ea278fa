import { expect, test } from 'vitest';
import { forAllTests } from '../support/lifetime.ts';
import { openTestDatabase } from '../support/test-database.ts';

/** Not per account: the days, and which migrations were applied. */
const SHARED_TABLES = ['safety.calendar', 'safety_sync.migrations', 'safety_sync.reader_accounts'];

const connection = forAllTests(() => openTestDatabase());

const OURS = `from pg_class c join pg_namespace n on n.oid = c.relnamespace
  where n.nspname in ('safety', 'safety_sync') and c.relkind in ('r', 'p')`;
const NAME = `n.nspname || '.' || c.relname`;

test('every table but the shared ones has an account_id that is never null', async () => {
  const rows = await connection.query<{ name: string }>(
    `select ${NAME} as name ${OURS} and not exists (select from pg_attribute a
         where a.attrelid = c.oid and a.attname = 'account_id' and a.attnotnull and a.atttypid = 'text'::regtype) order by 1`,
  );
  expect(rows.map(({ name }) => name)).toEqual(SHARED_TABLES);
});

test('every table but the shared ones has a primary key that begins with account_id', async () => {
  const rows = await connection.query<{ name: string; first: string | null }>(
    `select ${NAME} as name, (select a.attname from pg_index i join pg_attribute a on a.attrelid = c.oid and a.attnum = i.indkey[0]
           where i.indrelid = c.oid and i.indisprimary) as first ${OURS} order by 1`,
  );
  expect(rows.length).toBeGreaterThan(20);
  const wrong = rows.filter(({ first }) => first !== 'account_id').map(({ name }) => name);
  expect(wrong).toEqual(SHARED_TABLES);
});

test('every unique index of a table that is not shared contains account_id', async () => {
  const rows = await connection.query<{ name: string }>(
    `select k.relname as name from pg_index i join pg_class k on k.oid = i.indexrelid where i.indisunique and i.indrelid in (select c.oid ${OURS})
         and not exists (select from pg_attribute a where a.attrelid = i.indrelid and a.attname = 'account_id'
           and a.attnum = any (i.indkey::int2[])) order by 1`,
  );
  expect(rows.map(({ name }) => name)).toEqual(['calendar_pkey', 'migrations_pkey', 'reader_accounts_pkey']);
});
