/**
 * A warehouse that is distributed over the nodes of a Citus cluster by `account_id`: all rows of an account
 * are on one node. Only migrations, accounts and access know about Citus; every other statement is the same as on
 * one PostgreSQL.
 */
import { SafetySyncError } from '../shared/errors.ts';
import { toArrayLiteral } from '../engine/database/array-literal.ts';
import type { TextQueries } from '../engine/database/connection.ts';
import { HAS_ACCOUNT } from './access.ts';
import { READER_ROLE } from './reader-role.ts';

const OLDEST_CITUS = 13;
/** Small, and common to all accounts or read by all of them: a copy on every node. */
const REFERENCE_TABLES = ['safety.calendar', 'safety.reporting_settings', 'safety_sync.account_changes'];
/** The first table that is distributed; the others are colocated with it. */
const FIRST_TABLE = 'safety.followups';

/** Tables that are left to place, parents first: a foreign key may only point to a table that is placed already. */
const UNPLACED = `with recursive ours as (
    select c.oid, n.nspname || '.' || c.relname as name from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where n.nspname in ('safety', 'safety_sync') and c.relkind in ('r', 'p')),
  depths as (
    select oid, 0 as depth from ours
    union
    select k.conrelid, d.depth + 1 from depths d join pg_constraint k on k.confrelid = d.oid and k.contype = 'f'
      and k.conrelid <> k.confrelid)
  select c.name, c.name = any ($1::text[]) as "isReference" from ours c left join pg_dist_partition p on p.logicalrelid = c.oid
  where (c.name = any ($1::text[]) or ${HAS_ACCOUNT})
    and p.partmethod::text is distinct from case when c.name = any ($1::text[]) then 'n' else 'h' end
  order by (select max(depth) from depths d where d.oid = c.oid), c.name <> '${FIRST_TABLE}', c.name`;

/** A row with the version, for example `13.2-1`; none: this database has no Citus. */
const READ_EXTENSION = `select extversion as version from pg_extension where extname = 'citus'`;

/** Whether `migrate --citus` has been run. */
export async function isDistributed(connection: TextQueries): Promise<boolean> {
  if ((await connection.query(READ_EXTENSION)).length === 0) return false;
  const placed = await connection.query(
    `select from pg_dist_partition where logicalrelid = to_regclass('${FIRST_TABLE}') and partmethod = 'h'`,
  );
  return placed.length > 0;
}

/** A role is confined to accounts. */
const READ_POLICY = `select from pg_policy p join pg_class c on c.oid = p.polrelid where c.relnamespace = to_regnamespace('safety') limit 1`;

/** Checks that the tables can be distributed. Error: `citus_unfit`. */
export async function assertCitus(connection: TextQueries): Promise<void> {
  const [citus] = await connection.query<{ version: string }>(READ_EXTENSION);
  let found: string | undefined;
  if (citus === undefined) found = 'does not have the extension citus';
  else if (Number.parseInt(citus.version, 10) < OLDEST_CITUS) found = `has Citus ${citus.version}`;
  else if ((await connection.query('select where citus_is_coordinator()')).length === 0)
    found = 'is a worker node of the cluster';
  else if ((await connection.query(READ_POLICY)).length > 0) found = 'confines roles to accounts';
  if (found !== undefined) throw new SafetySyncError('citus_unfit', `this database ${found}`);
}

/**
 * Functions of the schema read `safety.reporting_settings`, a reference table; Citus treats that as a nested
 * statement. Takes effect for new sessions.
 */
const ALLOW_FUNCTIONS = `select run_command_on_all_nodes(format(
  'alter database %I set citus.allow_nested_distributed_execution = on', current_database()))`;

/** Distributes the remaining tables, with the rows that they hold. Returns the tables. */
export async function distribute(connection: TextQueries): Promise<readonly string[]> {
  const tables = await connection.query<{ name: string; isReference: boolean }>(UNPLACED, [
    toArrayLiteral(REFERENCE_TABLES),
  ]);
  for (const { name, isReference } of tables) {
    if (isReference) await connection.query('select create_reference_table($1::text::regclass)', [name]);
    else
      await connection.query(
        `select create_distributed_table($1::text::regclass, 'account_id', colocate_with => $2)`,
        [name, name === FIRST_TABLE ? 'none' : FIRST_TABLE],
      );
  }
  // Removes the earlier rows, which stay hidden at the coordinator. All tables are truncated together, because foreign keys
  // connect them.
  for (const { name } of tables.toReversed()) {
    await connection.query('select truncate_local_data_after_distributing_table($1::text::regclass)', [name]);
  }
  if (tables.length > 0) await connection.query(ALLOW_FUNCTIONS);
  return tables.map(({ name }) => name);
}

/**
 * The views `safety.accounts`, `freshness` and `people` read the control tables as their owner, but Citus sends the
 * content of a view to the nodes as a statement of the current user. So the reader may read those columns,
 * and no others.
 */
const LET_READ_CONTROL = `do $$
begin
  if (select has_column_privilege(oid, 'safety_sync.sources', 'service_name', 'select') from pg_roles
      where rolname = '${READER_ROLE}') is distinct from false then return; end if;
  grant usage on schema safety_sync to ${READER_ROLE};
  grant select (account_id, stream, last_success_at, watermark, calculated_at, backfill_started_at, read_parts, complete_until)
    on safety_sync.stream_state to ${READER_ROLE};
  grant select (account_id, stream, run_id, status, finished_at, requests) on safety_sync.runs to ${READER_ROLE};
  grant select (account_id, user_id, named_at) on safety_sync.user_lookups to ${READER_ROLE};
  grant select (account_id, person) on safety_sync.forgotten to ${READER_ROLE};
  grant select (account_id, service_name) on safety_sync.sources to ${READER_ROLE};
exception when insufficient_privilege then null;
end $$`;

/** Grants the reader's missing rights, if there is a reader, as far as this user may. The last of the rights tells of all. */
export const grantControl = (connection: TextQueries) => connection.query(LET_READ_CONTROL);
