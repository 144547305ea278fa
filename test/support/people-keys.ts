/** View columns that name a person, from the catalogue and the streams. */
import { STREAMS } from '../../src/engine/streams/index.ts';
import { userColumns } from '../../src/engine/streams/stored-columns.ts';
import type { TestWorker } from './world.ts';

export interface PersonColumn {
  readonly view: string;
  /** `assignee` for `assignee_id`, `assignee_name` and `assignee_key`. */
  readonly person: string;
}

/** View columns with the name of a column that streams declare as ids of people, and the id in each row. */
export async function readPersonColumns(worker: TestWorker): Promise<PersonColumn[]> {
  const names = STREAMS.filter(({ readMode }) => readMode.kind !== 'people')
    .flatMap(userColumns)
    .map(({ column }) => `'${column}'`);
  return await worker.query<PersonColumn>(
    `select c.relname as view, left(a.attname, -3) as person from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0
     where c.relnamespace = 'safety'::regnamespace and c.relkind = 'v' and c.relname !~ '^people'
       and a.atttypid = 'text'::regtype and a.attname in (${names.join(', ')}) order by 1, 2`,
  );
}

/** Keys of people in views that are missing in `people`. */
export async function findKeysWithoutPerson(worker: TestWorker): Promise<string[]> {
  const columns = await readPersonColumns(worker);
  const all = columns.map(
    ({ view, person }) => `select account_id, ${person}_key as key, '${view}' as view from safety.${view}`,
  );
  const rows = await worker.query<{ missing: string }>(
    `select distinct k.view || ': ' || k.key as missing from (${all.join(' union all ')}) k
     left join safety.people p on p.account_id = k.account_id and p.user_key = k.key
     where k.key is not null and p.user_key is null order by 1`,
  );
  return rows.map(({ missing }) => missing);
}
