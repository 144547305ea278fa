/** Stores the dictionary as COMMENTs, where psql, BI tools and catalogues find it. */
import type { Connection } from '../engine/database/connection.ts';
import { meaningOf } from '../dictionary/description.ts';
import { dictionaryOf } from '../dictionary/dictionary.ts';
import { STREAMS } from '../engine/streams/index.ts';

const DICTIONARY = dictionaryOf(STREAMS);

interface Commented {
  readonly schema: string;
  readonly relation: string;
  /** null: the relation itself. */
  readonly name: string | null;
  /** As `comment on` names it. */
  readonly target: string;
  readonly comment: string | null;
}

/**
 * The comments that this user may set: on relations and schemas that it owns. `tableoid` is `pg_class`, and not written as a
 * constant, because PostgreSQL then expects one comment and joins without a hash: 44 ms instead of 6.
 */
const COMMENTED = `select n.nspname as schema, c.relname as relation, a.attname as name, d.description as comment,
    case when a.attname is not null then format('column %I.%I.%I', n.nspname, c.relname, a.attname)
      else format('%s %I.%I', case c.relkind when 'v' then 'view' else 'table' end, n.nspname, c.relname) end as target
  from pg_class c join pg_namespace n on n.oid = c.relnamespace
  left join (select attrelid, attname, attnum from pg_attribute where attnum > 0 and not attisdropped
    union all select oid, null, 0 from pg_class) a on a.attrelid = c.oid
  left join pg_description d on d.classoid = c.tableoid and d.objoid = c.oid and d.objsubid = a.attnum
  where n.nspname in ('safety', 'safety_sync') and c.relkind in ('r', 'p', 'v')
    and pg_has_role(c.relowner, 'usage')`;

const literal = (text: string): string => `'${text.replaceAll("'", "''")}'`;

function commentOf({ schema, relation, name }: Commented): string | null {
  const described = DICTIONARY[schema as keyof typeof DICTIONARY][relation];
  return (name === null ? described?.comment : meaningOf(described, name)) ?? null;
}

/** Writes the comments that are missing or differ; none where this user is not the owner. */
export async function writeComments(connection: Connection): Promise<void> {
  const rows = await connection.query<Commented>(COMMENTED);
  const statements = rows.flatMap((row) => {
    const meaning = commentOf(row);
    return meaning === null || meaning === row.comment
      ? []
      : [`comment on ${row.target} is ${literal(meaning)}`];
  });
  if (statements.length > 0) {
    // As one block: a statement sent with parameters may not hold several.
    await connection.query(`do $comments$ begin ${statements.join('; ')}; end $comments$`);
  }
}
