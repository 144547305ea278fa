/** Checks of a database that need no run. */
import { adviceOf } from '../../shared/errors.ts';
import type { Connection } from '../../engine/database/connection.ts';
import { READ_ONLY_ADVICE } from '../../engine/database/database-error.ts';
import { readCitus } from '../../warehouse/citus.ts';
import { ENCODING, ENCODING_ADVICE, OLDEST_SERVER } from '../../warehouse/migrate.ts';
import { readMigrationStatus } from '../../engine/database/migration-status.ts';
import { formatDuration, formatNumber, nameSome, roughly } from '../../shared/format.ts';
import { type Clock, MINUTE_MS, systemClock } from '../../shared/time.ts';
import { readAccess } from '../../warehouse/change-access.ts';
import { adviseOnReader, READER_ROLE, readReaderRole } from '../../warehouse/reader-role.ts';
import { type Check, failed, ok, skipped } from './finding.ts';

interface Server {
  readonly version: string;
  readonly number: number;
  readonly encoding: string;
  readonly is_read_only: boolean;
  readonly database: string;
  readonly owner: string;
  /** The quoted names of the database and its user, for SQL statements. */
  readonly quoted_database: string;
  readonly quoted_owner: string;
  readonly may_create: boolean;
  readonly may_use_temporary: boolean;
  readonly now_ms: number;
  /** The versions of the database's collation, then and now; null: PostgreSQL does not know. */
  readonly collation_before: string | null;
  readonly collation_now: string | null;
}

const SERVER = `select current_setting('server_version') as version, current_setting('server_version_num')::int as number,
  current_setting('server_encoding') as encoding, current_setting('transaction_read_only')::boolean as is_read_only,
  current_database() as database, current_user as owner,
  quote_ident(current_database()) as quoted_database, quote_ident(current_user) as quoted_owner,
  has_database_privilege(current_database(), 'create') as may_create,
  has_database_privilege(current_database(), 'temporary') as may_use_temporary,
  (extract(epoch from clock_timestamp()) * 1000)::float8 as now_ms,
  (select to_jsonb(d) ->> 'datcollversion' from pg_database d where d.datname = current_database()) as collation_before,
  (select pg_collation_actual_version(c.oid) from pg_collation c where c.collname = 'default') as collation_now`;

/** `whose`: the text in messages that names the accounts of the tables. */
export async function checkDatabase(
  connection: Connection,
  whose: string,
  clock: Pick<Clock, 'now'> = systemClock,
): Promise<Check[]> {
  const [server] = await connection.query<Server>(SERVER);
  if (server === undefined) throw new TypeError('a select without a table returned no row');
  const aheadMs = clock.now() - server.now_ms;
  const found = `PostgreSQL ${server.version}, database ${server.database}, as ${server.owner}`;
  if (server.number < OLDEST_SERVER) return [failed('database', found, adviceOf('database_too_old'))];
  if (server.is_read_only) return [failed('database', `${found}: it is read-only`, READ_ONLY_ADVICE)];
  const reachable = ok('database', found);
  const rights = await checkRights(connection, server, whose);
  if (rights.result === 'failed') return [reachable, rights];
  const { known, pending } = await readMigrationStatus(connection);
  if (pending === known && server.encoding !== ENCODING)
    return [failed('database', `${found}: its encoding is ${server.encoding}`, ENCODING_ADVICE)];
  if (pending > 0) {
    const missing = `${pending} of ${known} are missing`;
    const advice =
      'This user may not create schemas here: run safety-sync migrate as the owner of the database.';
    return [
      reachable,
      server.may_create
        ? ok('migrations', `${missing}; sync and start apply them`)
        : failed('migrations', missing, advice),
    ];
  }
  return [
    reachable,
    checkClocks(aheadMs),
    ...checkCollation(server),
    ok('migrations', `all ${known} applied`),
    rights,
    await checkReader(connection),
    ...(await checkAccess(connection)),
    ...(await checkCitus(connection)),
  ];
}

/**
 * Clocks that differ by less than this count as equal: the requests that depend on them overlap by minutes.
 */
const MOST_OFF_MS = MINUTE_MS;

function checkClocks(aheadMs: number): Check {
  const differMs = Math.abs(aheadMs);
  if (differMs < MOST_OFF_MS) return ok('clocks', 'this machine and the database agree');
  const where = aheadMs > 0 ? 'ahead of' : 'behind';
  return {
    ...skipped(
      'clocks',
      `the clock of this machine is ${roughly(formatDuration(differMs))} ${where} that of the database`,
      `Set the clocks by NTP. Schedules tick by the clock of this machine, so runs begin so much too ${aheadMs > 0 ? 'early' : 'late'}. Data is not affected: ages and alerts follow the clock of the database, and requests the times of the service.`,
    ),
    remark: 'the clocks differ',
  };
}

/** Our keys do not depend on it, those of other tables of the database may. */
function checkCollation({
  collation_before: before,
  collation_now: now,
  quoted_database: name,
}: Server): Check[] {
  if (before === null || now === null || before === now) return [];
  return [
    skipped(
      'collation',
      `the database was made with version ${before} of its collation, and the system has ${now}`,
      `Ids and keys of the warehouse do not depend on it; names may sort otherwise. Indexes of other tables on text may be wrong: reindex database ${name}; alter database ${name} refresh collation version;`,
    ),
  ];
}

/** Returns no check if roles could be confined to accounts and none is. */
async function checkAccess(connection: Connection): Promise<Check[]> {
  const { unsupported, confined, problems } = await readAccess(connection);
  const what = 'row-level security';
  if (confined.length === 0) {
    return unsupported === null ? [] : [skipped(what, `no role can be confined to accounts: ${unsupported}`)];
  }
  const finding = `${formatNumber(confined.length, 'role')} confined to accounts`;
  return [
    problems.length === 0
      ? ok(what, finding)
      : failed(what, `${finding}, not wholly`, problems.join('\n       ')),
  ];
}

/** Returns no check without Citus. */
async function checkCitus(connection: Connection): Promise<Check[]> {
  const citus = await readCitus(connection);
  if (citus === undefined) return [];
  const { version, nodes, isDistributed, missing } = citus;
  const on = `Citus ${version}, ${nodes === 1 ? 'one node that holds' : `${nodes} nodes that hold`} rows`;
  if (!isDistributed) {
    const advice = 'To distribute it by account over the nodes: safety-sync migrate --citus';
    return [skipped('citus', `${on}; the warehouse is on the coordinator alone`, advice)];
  }
  return [
    missing.length === 0
      ? ok('citus', `${on}; the warehouse is distributed by account`)
      : failed(
          'citus',
          `${on}; not distributed: ${missing.join(', ')}`,
          'Run safety-sync migrate as the owner of the schemas.',
        ),
  ];
}

/** A missing role is no failure, because only BI needs it, and can have grants of its own. */
async function checkReader(connection: Connection): Promise<Check> {
  const reader = await readReaderRole(connection);
  const advice = adviseOnReader(reader);
  if (advice === null) return ok('reader role', `${READER_ROLE} may read schema safety`);
  const finding = reader.exists ? 'may not read all of it' : 'does not exist; nothing but BI tools needs it';
  return skipped('reader role', `${READER_ROLE} ${finding}`, advice);
}

/** Schemas and tables that a finding names. */
const MOST_NAMED = 5;

/** What a sync needs in the two schemas, as far as they exist. */
const LACKING = `select 'schema ' || nspname as name, 1 as rank from pg_namespace
  where nspname in ('safety', 'safety_sync') and not has_schema_privilege(oid, 'usage')
  union all select n.nspname || '.' || c.relname, 2 from pg_class c join pg_namespace n on n.oid = c.relnamespace
  where n.nspname in ('safety', 'safety_sync') and c.relkind in ('r', 'p') and not (has_table_privilege(c.oid, 'select')
    and (c.relname = 'migrations' or has_table_privilege(c.oid, 'insert') and has_table_privilege(c.oid, 'update')
      and has_table_privilege(c.oid, 'delete')))
  order by 2, 1`;

async function checkRights(connection: Connection, server: Server, whose: string): Promise<Check> {
  const rows = await connection.query<{ name: string }>(LACKING);
  const { quoted_owner: user, quoted_database: database, may_use_temporary: hasTemporary } = server;
  const lacking = [...(hasTemporary ? [] : ['temporary tables']), ...rows.map(({ name }) => name)];
  if (lacking.length === 0) return ok('rights', `may read and write every table (${whose})`);
  // The rights of the user of sync and start if it is not the owner.
  const advice = [
    'As the owner of the schemas, in psql:',
    `grant usage on schema safety, safety_sync to ${user};`,
    `grant select, insert, update, delete on all tables in schema safety, safety_sync to ${user};`,
    `grant temporary on database ${database} to ${user};`,
  ];
  return failed('rights', `not on ${nameSome(lacking, MOST_NAMED)}`, advice.join('\n       '));
}
