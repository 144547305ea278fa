/** Ids are compared byte by byte, so that an upgrade of the system's locale breaks no unique key; names sort as people read them. */
import { expect, test } from 'vitest';
import { forEachTest } from '../support/lifetime.ts';
import { createTimedWorker } from '../support/world.ts';

const worker = forEachTest(() => createTimedWorker({}));

/** Columns with text that are no expression's result of another type. */
const COLUMNS = `select c.relname || '.' || a.attname as name, l.collname = 'C' as is_bytes
  from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
  join pg_collation l on l.oid = a.attcollation
  where c.relnamespace in ('safety'::regnamespace, 'safety_sync'::regnamespace) and c.relkind in ('r', 'v', 'p')`;

test('ids and keys in tables and views have collation "C"', async () => {
  const wrong = await worker.query<{ name: string }>(
    `select name from (${COLUMNS}) x where not is_bytes and name ~ '\\.(id|account_id|stream|.*_ids?|.*_key)$' order by 1`,
  );
  expect(wrong.map(({ name }) => name)).toEqual([]);
});

test('no index depends on the collation of the database', async () => {
  const wrong = await worker.query<{ name: string }>(
    `select distinct i.indexrelid::regclass::text as name from pg_index i join pg_class c on c.oid = i.indrelid
     cross join unnest(i.indcollation::oid[]) as u (used)
     where c.relnamespace in ('safety'::regnamespace, 'safety_sync'::regnamespace) and u.used = 'pg_catalog.default'::regcollation`,
  );
  expect(wrong.map(({ name }) => name)).toEqual([]);
});

test('names and labels have the collation of the database, also where they fall back to the id', async () => {
  const wrong = await worker.query<{ name: string }>(
    `select name from (${COLUMNS}) x where is_bytes and name ~ '\\.(.*_)?(label|name|title|note|field_office|line_of_business|job_title)$' order by 1`,
  );
  expect(wrong.map(({ name }) => name)).toEqual([]);
});
