/** Functions and views of the warehouse: one file each in `migrations`, which holds the only definition. */
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { SafetySyncError } from '../../shared/errors.ts';
import type { TextQueries } from './connection.ts';
import { causesOf, databaseCode } from './database-error.ts';

interface Definition {
  readonly name: string;
  readonly isView: boolean;
  /** `create or replace …` */
  readonly statements: string;
}

function readFolder(folder: URL, kind: 'functions' | 'views'): Definition[] {
  const path = new URL(`${kind}/`, folder);
  return readdirSync(path)
    .filter((file) => file.endsWith('.sql'))
    .toSorted()
    .map((file) => ({
      name: file.slice(0, -'.sql'.length),
      isView: kind === 'views',
      statements: readFileSync(new URL(file, path), 'utf8'),
    }));
}

/** Sorts the definitions: each one is after those that it refers to as `safety.NAME`. */
function orderByUse(definitions: readonly Definition[]): Definition[] {
  const ordered = new Set<Definition>();
  const add = (one: Definition, path: readonly Definition[]): void => {
    if (path.includes(one)) throw new TypeError(`${one.name} depends on itself`);
    const named = new Set(one.statements.replace(/--.*/g, '').match(/(?<=\bsafety\.)\w+/g));
    for (const other of definitions) if (other !== one && named.has(other.name)) add(other, [...path, one]);
    ordered.add(one);
  };
  for (const one of definitions) add(one, []);
  return [...ordered];
}

interface Definitions {
  readonly list: readonly Definition[];
  /** Changes when one of the files does. */
  readonly hash: string;
}

export function readDefinitions(migrationsFolder: URL): Definitions {
  const kinds = ['functions', 'views'] as const;
  const list = orderByUse(kinds.flatMap((kind) => readFolder(migrationsFolder, kind)));
  const hash = createHash('sha256').update(list.map(({ statements }) => statements).join('\0'));
  return { list, hash: hash.digest('hex') };
}

/** Rights that were granted on views by hand, as the statements that grant them again. */
const READ_GRANTS = `
  select format('grant %s on safety.%I to %s%s', a.privilege_type || coalesce(' (' || quote_ident(v.attribute) || ')', ''), v.relname,
    case when a.grantee = 0 then 'public' else quote_ident(pg_get_userbyid(a.grantee)) end,
    case when a.is_grantable then ' with grant option' else '' end) as statement
  from (
    select c.relowner, c.relname, c.relacl as acl, null::name as attribute
      from pg_class c where c.relnamespace = 'safety'::regnamespace and c.relkind = 'v'
    union all
    select c.relowner, c.relname, t.attacl, t.attname from pg_class c join pg_attribute t on t.attrelid = c.oid
      where c.relnamespace = 'safety'::regnamespace and c.relkind = 'v' and t.attacl is not null) v
  cross join aclexplode(v.acl) a where a.grantee <> v.relowner and v.relname = any ($1::text[])`;

/** PostgreSQL replaces a view in place only if its columns stay unchanged, except for new ones at the end. */
const COLUMNS_DIFFER = '42P16';
const OTHERS_DEPEND = '2BP01';

/** The objects in the way, as PostgreSQL lists them. */
const detailOf = (error: unknown): string =>
  causesOf(error)
    .map((one) => (one as { detail?: unknown }).detail)
    .find((detail) => typeof detail === 'string') ?? String(error);

/** Drops all views and creates them again, with the grants on them. */
async function recreate(connection: TextQueries, list: readonly Definition[]): Promise<void> {
  const views = list.filter(({ isView }) => isView).map(({ name }) => name);
  const grants = await connection.query<{ statement: string }>(READ_GRANTS, [`{${views.join(',')}}`]);
  try {
    for (const name of views.toReversed()) await connection.query(`drop view if exists safety.${name}`);
  } catch (error) {
    if (databaseCode(error) !== OTHERS_DEPEND) throw error;
    throw new SafetySyncError('database_error', `columns of views change: ${detailOf(error)}`, {
      cause: error,
      advice:
        'Drop your views that read those of schema safety, run safety-sync migrate, and create them again.',
    });
  }
  for (const { statements } of list) await connection.query(statements);
  for (const { statement } of grants) await connection.query(statement);
}

/** Part of a transaction. A view is replaced in place, so that grants and views of others on top of it stay. */
export async function applyDefinitions(connection: TextQueries, { list }: Definitions): Promise<void> {
  await connection.query('savepoint definitions');
  try {
    for (const { statements } of list) await connection.query(statements);
  } catch (error) {
    if (databaseCode(error) !== COLUMNS_DIFFER) throw error;
    await connection.query('rollback to savepoint definitions');
    await recreate(connection, list);
  }
}
