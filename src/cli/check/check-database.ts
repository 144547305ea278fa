/** Checks of a database that need no run. */
import { adviceOf } from '../../shared/errors.ts';
import type { Connection } from '../../engine/database/connection.ts';
import { READ_ONLY_ADVICE } from '../../engine/database/database-error.ts';
import { ENCODING, ENCODING_ADVICE, OLDEST_SERVER } from '../../warehouse/migrate.ts';
import { readMigrationStatus } from '../../engine/database/migration-status.ts';
import { nameSome } from '../../shared/format.ts';
import type { Say } from './check-service.ts';

interface Server {
  /** In words. */
  readonly found: string;
  readonly version: number;
  readonly encoding: string;
  readonly is_read_only: boolean;
  readonly may_create: boolean;
  /** The quoted names of the database and its user, for SQL statements. */
  readonly database: string;
  readonly owner: string;
}

const SERVER = `select format('PostgreSQL %s, database %s, as %s', current_setting('server_version'), current_database(), current_user) as found,
  current_setting('server_version_num')::int as version, current_setting('server_encoding') as encoding,
  current_setting('transaction_read_only')::boolean as is_read_only,
  has_database_privilege(current_database(), 'create') as may_create,
  quote_ident(current_database()) as database, quote_ident(current_user) as owner`;

/** Known since PostgreSQL 15. */
const CHANGED_COLLATION = `select datcollversion as before, pg_database_collation_actual_version(oid) as now from pg_database
  where datname = current_database() and datcollversion <> pg_database_collation_actual_version(oid)`;

const MIGRATE_ADVICE =
  'This user may not create schemas here: run safety-sync migrate as the owner of the database.';

/** Returns whether the warehouse can be used. */
export async function checkDatabase(connection: Connection, say: Say): Promise<boolean> {
  const [server] = (await connection.query<Server>(SERVER)) as [Server];
  const { found } = server;
  const refuse = (what: string, finding: string, advice: string): false => {
    say('failed', what, finding, advice);
    return false;
  };
  if (server.version < OLDEST_SERVER) return refuse('database', found, adviceOf('database_too_old'));
  if (server.is_read_only) return refuse('database', `${found}: it is read-only`, READ_ONLY_ADVICE);
  const lacking = await connection.query<{ name: string }>(LACKING);
  if (lacking.length > 0) {
    const names = lacking.map(({ name }) => name);
    say('ok', 'database', found);
    return refuse('rights', `not on ${nameSome(names, MOST_NAMED)}`, grantsFor(server));
  }
  const { known, pending, pendingTables } = await readMigrationStatus(connection);
  if (pending === known && server.encoding !== ENCODING)
    return refuse('database', `${found}: its encoding is ${server.encoding}`, ENCODING_ADVICE);
  say('ok', 'database', found);
  const missing = `${pending} of ${known} are missing`;
  if (pending === 0) {
    await sayCollation(connection, server, say);
    say('ok', 'migrations', `all ${known} applied`);
    say('ok', 'rights', 'may read and write every table');
  } else if (server.may_create) say('ok', 'migrations', `${missing}; sync and start apply them`);
  else say('failed', 'migrations', missing, MIGRATE_ADVICE);
  return pendingTables === 0;
}

/** Keys of the warehouse do not depend on it, those of other tables of the database may. */
async function sayCollation(connection: Connection, server: Server, say: Say): Promise<void> {
  if (server.version < 150_000) return;
  const [changed] = await connection.query<{ before: string; now: string }>(CHANGED_COLLATION);
  if (changed === undefined) return;
  const { database } = server;
  const finding = `the database was made with version ${changed.before} of its collation, and the system has ${changed.now}`;
  const advice = `Ids and keys of the warehouse do not depend on it; names may sort otherwise. Indexes of other tables on text may be wrong: reindex database ${database}; alter database ${database} refresh collation version;`;
  say('skipped', 'collation', finding, advice);
}

/** Schemas and tables that a finding names. */
const MOST_NAMED = 5;

/** The missing rights that a sync needs in the database and, where they exist, in the two schemas. */
const LACKING = `select 'temporary tables' as name, 0 as rank
  where not has_database_privilege(current_database(), 'temporary')
  union all select 'schema ' || nspname, 1 from pg_namespace
  where nspname in ('safety', 'safety_sync') and not has_schema_privilege(oid, 'usage')
  union all select n.nspname || '.' || c.relname, 2 from pg_class c join pg_namespace n on n.oid = c.relnamespace
  where n.nspname in ('safety', 'safety_sync') and c.relkind in ('r', 'p') and not (has_table_privilege(c.oid, 'select')
    and (c.relname = 'migrations' or has_table_privilege(c.oid, 'insert') and has_table_privilege(c.oid, 'update')
      and has_table_privilege(c.oid, 'delete')))
  order by 2, 1`;

/** The rights of the user of sync and start if it is not the owner. */
const grantsFor = ({ owner, database }: Server): string =>
  [
    'As the owner of the schemas, in psql:',
    `grant usage on schema safety, safety_sync to ${owner};`,
    `grant select, insert, update, delete on all tables in schema safety, safety_sync to ${owner};`,
    // What a later version makes, or makes again.
    `alter default privileges in schema safety, safety_sync grant select, insert, update, delete on tables to ${owner};`,
    `grant temporary on database ${database} to ${owner};`,
  ].join('\n');
