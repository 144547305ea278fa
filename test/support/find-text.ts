/**
 * Searches a text in a warehouse: in all columns of all tables and views outside of PostgreSQL's own schemas, and in the
 * statistics. The calendar is skipped, because it contains only days and its thousands of rows would take most of the time.
 */
import { casesOf } from './proof.ts';
import type { Compared } from './source-oracle.ts';

export async function findText(
  warehouse: Pick<Compared, 'query'>,
  texts: readonly string[],
  /** `tables`: skips the views, which show the tables' data and double the time; by default in `npm test`. */
  relations: 'all' | 'tables' = casesOf({ few: 'tables', all: 'all' }),
): Promise<string[]> {
  const tables = await warehouse.query<{ name: string }>(
    `select quote_ident(table_schema) || '.' || quote_ident(table_name) as name from information_schema.tables
     where table_schema in ('safety', 'safety_sync') and table_name <> 'calendar'
       ${relations === 'tables' ? `and table_type = 'BASE TABLE'` : ''} order by 1`,
  );
  const found: string[] = [];
  // As JSON, which contains a row as a dump does, with the column names.
  const rows = await warehouse.query<{ name: string; row: string }>(
    tables
      .map(({ name }) => `select '${name}' as name, to_jsonb(t)::text as row from ${name} t`)
      .join(' union all '),
  );
  for (const { name, row } of rows) {
    for (const text of texts) if (row.includes(text)) found.push(`${name}: ${text} in ${row.slice(0, 300)}`);
  }
  const stats = await warehouse.query<{ place: string; text: string }>(
    `select schemaname || '.' || tablename || '.' || attname as place,
       concat_ws(' ', most_common_vals::text, histogram_bounds::text, most_common_elems::text) as text
     from pg_stats where schemaname in ('safety', 'safety_sync')`,
  );
  for (const { place, text } of stats) {
    for (const one of texts) if (text.includes(one)) found.push(`statistics of ${place}: ${one}`);
  }
  return found;
}
