/**
 * Lists every table with an `account_id`, from the catalog, and makes the statements that rename or delete the rows of an
 * account. A statement covers a range of keys and all rows that refer to them, because foreign keys hold after every
 * statement. Each one can be committed alone.
 */
import type { TextQueries } from '../engine/database/connection.ts';
import { HAS_ACCOUNT } from './access-relations.ts';

interface AccountColumn {
  readonly name: string;
  /** As PostgreSQL spells it. */
  readonly type: string;
}

/** A table with a foreign key to its parent. */
interface ChildTable {
  readonly name: string;
  readonly key: readonly AccountColumn[];
  /** The table that the foreign key points to, and the pairs of columns, without `account_id`. */
  readonly parent: string;
  readonly refers: readonly { readonly column: string; readonly to: string }[];
}

/** A table without a foreign key. */
export interface AccountTable {
  readonly name: string;
  /** Primary key without `account_id`. */
  readonly key: readonly AccountColumn[];
  /** Tables that refer to this one, directly or not, parents first. */
  readonly children: readonly ChildTable[];
}

/** A worker writes a few rows there for every configured account, before the first sync too. */
const OF_THE_CONFIGURATION = ['safety.reporting_settings', 'safety_sync.outbox'];
export const isOfConfiguration = ({ name }: Pick<AccountTable, 'name'>): boolean =>
  OF_THE_CONFIGURATION.includes(name);

/**
 * Rows of the source come before `stream_state`, so `complete_until` never covers rows that were not renamed yet.
 * `account_changes` is not changed, because it records the change.
 */
const ACCOUNT_TABLES_SQL = `select json_build_object('name', format('%I.%I', n.nspname, c.relname), 'key',
    (select coalesce(json_agg(json_build_object('name', quote_ident(a.attname), 'type', format_type(a.atttypid, a.atttypmod))
        order by u.position) filter (where a.attname <> 'account_id'), '[]')
      from pg_constraint k cross join unnest(k.conkey) with ordinality u (number, position)
      join pg_attribute a on a.attrelid = k.conrelid and a.attnum = u.number
      where k.conrelid = c.oid and k.contype = 'p'), 'parent',
    (select json_build_object('name', k.confrelid::regclass::text, 'refers', json_agg(json_build_object(
        'column', quote_ident(own.attname), 'to', quote_ident(other.attname)))
        filter (where own.attname <> 'account_id'))
      from pg_constraint k cross join unnest(k.conkey, k.confkey) u (number, of)
      join pg_attribute own on own.attrelid = k.conrelid and own.attnum = u.number
      join pg_attribute other on other.attrelid = k.confrelid and other.attnum = u.of
      where k.conrelid = c.oid and k.contype = 'f' group by k.oid, k.confrelid limit 1))::text as found
  from pg_class c join pg_namespace n on n.oid = c.relnamespace
  where n.nspname in ('safety', 'safety_sync') and c.relkind in ('r', 'p') and ${HAS_ACCOUNT} and c.relname <> 'account_changes'
  order by n.nspname, c.relname`;

type FoundTable = Omit<AccountTable, 'children'> & {
  readonly parent: { readonly name: string; readonly refers: ChildTable['refers'] } | null;
};

/** The tables that refer to `name`, each behind its parent. */
function childrenOf(name: string, all: readonly FoundTable[]): ChildTable[] {
  return all.flatMap(({ parent, ...own }) =>
    parent?.name === name
      ? [{ ...own, parent: name, refers: parent.refers }, ...childrenOf(own.name, all)]
      : [],
  );
}

export async function readAccountTables(connection: TextQueries): Promise<AccountTable[]> {
  const rows = await connection.query<{ found: string }>(ACCOUNT_TABLES_SQL);
  const all = rows.map(({ found }) => JSON.parse(found) as FoundTable);
  return all
    .filter(({ parent }) => parent === null)
    .map(({ name, key }) => ({ name, key, children: childrenOf(name, all) }));
}

/** Counts the rows of an account by table; empty tables are omitted. */
export async function countAccountRows(
  connection: TextQueries,
  tables: readonly AccountTable[],
  account: string,
): Promise<Map<string, number>> {
  const counts = new Map<string, number>();
  for (const name of tables.flatMap((table) => [table.name, ...table.children.map((child) => child.name)])) {
    const [row] = await connection.query<{ rows: string }>(
      `select count(*) as rows from ${name} where account_id = $1`,
      [account],
    );
    const rows = Number(row?.rows ?? 0);
    if (rows > 0) counts.set(name, rows);
  }
  return counts;
}

/** Rows of a statement, without the rows that refer to them. */
const ROWS_AT_ONCE = 500;

/** The values of a key, as text. */
type Position = readonly string[];

const names = (key: readonly AccountColumn[], alias = ''): string =>
  key.map(({ name }) => `${alias}${name}`).join(', ');
/** Parameters are sent as text, because the driver rounds times to milliseconds. */
const values = (key: readonly AccountColumn[], first: number): string =>
  key.map(({ type }, index) => `$${first + index}::text::${type}`).join(', ');

/** Finds the last key of the next rows; undefined: no row is left. */
async function readLastKey(
  connection: TextQueries,
  { name, key }: AccountTable,
  { account, after }: { readonly account: string; readonly after: Position | undefined },
): Promise<Position | undefined> {
  if (key.length === 0) {
    const rows = await connection.query(`select 1 as one from ${name} where account_id = $1`, [account]);
    return rows.length === 0 ? undefined : [];
  }
  // Earlier statements left dead rows before this position, so the index scan begins after them.
  const behind = after === undefined ? '' : `and (${names(key)}) > (${values(key, 2)})`;
  const ends = key.map((column, index) => `${column.name}::text as k${index}`);
  const [end] = await connection.query<Record<string, string>>(
    `select ${ends.join(', ')} from (
       select ${names(key)} from ${name} where account_id = $1 ${behind} order by ${names(key)} limit ${ROWS_AT_ONCE}) page
     order by ${key.map((column) => `page.${column.name} desc`).join(', ')} limit 1`,
    [account, ...(after ?? [])],
  );
  return end === undefined ? undefined : key.map((_, index) => end[`k${index}`] ?? '');
}

/** The condition on the rows of a statement. `first`: number of its first parameter. */
const upTo = ({ key }: AccountTable, first: number): string =>
  key.length === 0 ? 'true' : `(${names(key, 't.')}) <= (${values(key, first)})`;

/** PostgreSQL checks foreign keys at the end of the statement: by then parent and children have the new name. */
function moveStatement(table: AccountTable): string {
  const own = `moved_0 as (update ${table.name} t set account_id = $2 where t.account_id = $1 and ${upTo(table, 3)}
    returning ${['1 as one', ...table.key.map((column) => `t.${column.name}`)].join(', ')})`;
  const numberOf = (name: string): number => table.children.findIndex((child) => child.name === name) + 1;
  const children = table.children.map(
    ({ name, key, parent, refers }) =>
      `moved_${numberOf(name)} as (update ${name} c set account_id = $2 from moved_${numberOf(parent)} p
        where c.account_id = $1 and ${refers.map(({ column, to }) => `c.${column} = p.${to}`).join(' and ')}
        returning ${names(key, 'c.')})`,
  );
  const counts = [table, ...table.children].map((_, index) => `(select count(*) from moved_${index})`);
  return `with ${[own, ...children].join(', ')} select (${counts.join(' + ')})::int as rows`;
}

/** The foreign keys delete the children. */
const deleteStatement = (table: AccountTable): string =>
  `with gone as (delete from ${table.name} t where t.account_id = $1 and ${upTo(table, 2)} returning 1 as one)
    select count(*)::int as rows from gone`;

interface NextRows {
  readonly from: string;
  /** The new account; null: the rows are deleted. */
  readonly to: string | null;
  /** Last key of the previous rows; undefined: these are the first ones. */
  readonly after: Position | undefined;
}

/** Changes the account of the next rows, part of a transaction. Returns undefined after the last row. */
export async function changeNextRows(
  connection: TextQueries,
  table: AccountTable,
  { from, to, after }: NextRows,
): Promise<{ readonly rows: number; readonly end: Position } | undefined> {
  const end = await readLastKey(connection, table, { account: from, after });
  if (end === undefined) return undefined;
  if (to !== null && after === undefined && isOfConfiguration(table)) {
    // A worker may have written these rows for the new name already.
    await connection.query(`delete from ${table.name} where account_id = $1`, [to]);
  }
  const [statement, accounts] =
    to === null ? [deleteStatement(table), [from]] : [moveStatement(table), [from, to]];
  const [done] = await connection.query<{ rows: number }>(statement, [...accounts, ...end]);
  return { rows: done?.rows ?? 0, end };
}
