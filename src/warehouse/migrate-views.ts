/**
 * Replaces functions and views while people read them. A view whose columns stay, or get new ones at the end, is replaced in
 * place and alone, so that its readers wait for one statement, and grants and views of users on top of it stay. Otherwise
 * it is dropped and created again together with those of our views that read it.
 */
import { SafetySyncError } from '../shared/errors.ts';
import { VERSION } from '../version.ts';
import { toArrayLiteral } from '../engine/database/array-literal.ts';
import type { TextQueries } from '../engine/database/connection.ts';
import { type Definition, DEFINITIONS } from '../engine/database/definitions.ts';
import { LEDGER, type MigrationStatus } from '../engine/database/migration-status.ts';
import { completeAccess } from './access.ts';

/** Definitions that are applied in one transaction; views to drop before, those that read others first. */
export interface ViewStep {
  readonly drop: readonly string[];
  readonly apply: readonly Definition[];
}

const OURS: readonly string[] = DEFINITIONS.filter(({ isView }) => isView).map(({ name }) => name);
const NAMES = new RegExp(`\\bsafety\\.(${DEFINITIONS.map(({ name }) => name).join('|')})\\b`, 'g');

/** The views among these that exist with columns that the new definition, a temporary view, does not begin with. */
const COLUMNS_DIFFER = `select v.name from unnest($1::text[]) v (name) join pg_attribute o
    on o.attrelid = to_regclass('safety.' || quote_ident(v.name)) and o.attnum > 0
  where not exists (select from pg_attribute n where n.attrelid = to_regclass('pg_temp.' || quote_ident(v.name))
    and (n.attnum, n.attname, n.atttypid, n.atttypmod, n.attcollation)
      = (o.attnum, o.attname, o.atttypid, o.atttypmod, o.attcollation))
  group by v.name`;

/** Relations that read the roots, directly or through others, with the roots; `depth` 0: a root. */
const readingFrom = (roots: string): string => `with recursive d (oid, depth) as (
    ${roots}
    union
    select w.ev_class, d.depth + 1 from d join pg_depend p on p.refclassid = 'pg_class'::regclass and p.refobjid = d.oid
      and p.classid = 'pg_rewrite'::regclass join pg_rewrite w on w.oid = p.objid and w.ev_class <> d.oid)
  select c.oid::regclass::text as name from d join pg_class c on c.oid = d.oid where c.relkind in ('v', 'm')
  group by c.oid order by max(d.depth) desc`;

const OF_VIEWS = readingFrom(
  `select to_regclass('safety.' || quote_ident(name))::oid, 0 from unnest($1::text[]) v (name)`,
);
const OF_COLUMN = readingFrom(`select w.ev_class, 0 from pg_attribute a join pg_depend p
    on p.refclassid = 'pg_class'::regclass and p.refobjid = a.attrelid and p.refobjsubid = a.attnum
      and p.classid = 'pg_rewrite'::regclass join pg_rewrite w on w.oid = p.objid
    where a.attrelid = to_regclass($1) and a.attname = $2`);

/** The names to drop, those that read others first. Error: one of these views is not ours. */
function assertOurs(found: readonly { readonly name: string }[], ours = OURS): string[] {
  const isOurs = (name: string): boolean => ours.some((own) => name === `safety.${own}`);
  const foreign = found.map(({ name }) => name).filter((name) => !isOurs(name));
  if (foreign.length === 0) return found.map(({ name }) => name.slice('safety.'.length));
  const names = foreign.join(', ');
  const [reads, it] = foreign.length === 1 ? ['reads', 'it'] : ['read', 'them'];
  throw new SafetySyncError('view_in_the_way', `columns change that ${names} ${reads}`, {
    advice: `Drop ${names}, run safety-sync migrate, and create ${it} again.`,
  });
}

/** The column that the statement removes or changes, which PostgreSQL refuses while a view reads it. */
const CHANGED_COLUMN =
  /alter table\s+("\w+"\."\w+")\s+(?:drop column|alter column)\s+(?:if exists\s+)?"(\w+)"(?!\s+(?:set not null|drop|set default))/i;

/** Our views that read the column that this statement of a migration removes or changes. */
export async function readViewsInTheWay(connection: TextQueries, statement: string): Promise<string[]> {
  const [, table, column] = CHANGED_COLUMN.exec(statement) ?? [];
  if (table === undefined || column === undefined) return [];
  return assertOurs(await connection.query(OF_COLUMN, [table, column]));
}

/**
 * Plans the steps that apply the changed definitions, in a transaction that already has the changed tables. Nothing that
 * people read is locked: the new definitions are created as temporary views and compared. Error: `view_in_the_way`.
 */
export async function planViews(
  connection: TextQueries,
  { changed, dropped }: Pick<MigrationStatus, 'changed' | 'dropped'>,
): Promise<ViewStep[]> {
  if (changed.length + dropped.length === 0) return [];
  await connection.query('savepoint plan');
  for (const { statements } of DEFINITIONS) await connection.query(statements.replace(NAMES, 'pg_temp.$1'));
  const views = changed.filter(({ isView }) => isView).map(({ name }) => name);
  const differing = await connection.query<{ name: string }>(COLUMNS_DIFFER, [toArrayLiteral(views)]);
  await connection.query('rollback to savepoint plan');
  const roots = [...dropped, ...differing.map(({ name }) => name)];
  const drop = assertOurs(await connection.query(OF_VIEWS, [toArrayLiteral(roots)]), [...OURS, ...dropped]);
  const isAgain = ({ name }: Definition): boolean => drop.includes(name);
  const alone = (some: readonly Definition[]): ViewStep[] =>
    some.filter((one) => changed.includes(one)).map((one) => ({ drop: [], apply: [one] }));
  // A definition between them may be used by one of them.
  const from = Math.max(0, DEFINITIONS.findIndex(isAgain));
  const to = DEFINITIONS.findLastIndex(isAgain) + 1;
  const together = DEFINITIONS.slice(from, to).filter((one) => isAgain(one) || changed.includes(one));
  return [...alone(DEFINITIONS.slice(0, from)), { drop, apply: together }, ...alone(DEFINITIONS.slice(to))];
}

/** Rights that were granted on views by hand, as the statements that grant them again. */
const READ_GRANTS = `
  select format('grant %s on safety.%I to %s%s', a.privilege_type || coalesce(' (' || quote_ident(v.attribute) || ')', ''), c.relname,
    case when a.grantee = 0 then 'public' else quote_ident(pg_get_userbyid(a.grantee)) end,
    case when a.is_grantable then ' with grant option' else '' end) as statement
  from pg_class c cross join lateral (
    select c.relacl as acl, null::name as attribute union all select attacl, attname from pg_attribute where attrelid = c.oid) v
  cross join aclexplode(v.acl) a
  where c.relnamespace = 'safety'::regnamespace and c.relname = any ($1::text[]) and a.grantee <> c.relowner`;

/**
 * Drops views, and returns the statements that restore the grants on them. Queries lock a view before those that it reads,
 * and so does this order.
 */
export async function dropViews(connection: TextQueries, names: readonly string[]): Promise<string[]> {
  if (names.length === 0) return [];
  const staying = names.filter((name) => OURS.includes(name));
  const grants = await connection.query<{ statement: string }>(READ_GRANTS, [toArrayLiteral(staying)]);
  for (const name of names) await connection.query(`drop view if exists safety.${name}`);
  return grants.map(({ statement }) => statement);
}

const RECORD = `with before as (delete from ${LEDGER} where name = any ($1::text[]))
  insert into ${LEDGER} (name, hash, program_version) select name, hash, $3 from unnest($1::text[], $2::text[]) d (name, hash)`;

/** Part of a transaction: also sets what protects a confined reader, because a replaced view has lost it. */
export async function applyStep(connection: TextQueries, { drop, apply }: ViewStep): Promise<void> {
  const grants = await dropViews(connection, drop);
  for (const { statements } of apply) await connection.query(statements);
  for (const statement of grants) await connection.query(statement);
  const [names, hashes] = [apply.map(({ name }) => name), apply.map(({ hash }) => hash)];
  await connection.query(RECORD, [toArrayLiteral(names), toArrayLiteral(hashes), VERSION]);
  await completeAccess(connection);
}
