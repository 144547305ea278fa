/**
 * Configures the foreign key checks of PostgreSQL while rows of new records are copied. Each row causes a lookup in the
 * referenced table; this is most of the work of a first load and is redundant, because the rows of a record refer only to each
 * other (a test of every stream), and a record is stored as a whole.
 *
 * - A role that may set `session_replication_role` (a superuser, or from PostgreSQL 15 on a role with the grant) copies
 *   without the lookups, like a replica. The exception is a trigger on one of the tables, because the setting would disable it
 *   too.
 * - For other roles the lookups keep their plan. By default a session plans every statement again (tables grow meanwhile),
 *   including these lookups, and planning one takes twice as long as running it. The kept plan uses the key's index, however
 *   small the table still is.
 */
import { ignoreRejection } from '../../shared/errors.ts';
import type { Connection } from '../database/connection.ts';
import type { StreamShape, TableShape } from '../database/table-shape.ts';

type SessionSettings = Readonly<Record<string, string>>;

const KEEP_PLANS: SessionSettings = { plan_cache_mode: 'auto', enable_seqscan: 'off' };
const AS_REPLICA: SessionSettings = { session_replication_role: 'replica' };

/** Until the end of the transaction. */
const setLocally = (connection: Connection, settings: SessionSettings) =>
  connection.query(
    `select ${Object.entries(settings)
      .map(([name, value]) => `set_config('${name}', '${value}', true)`)
      .join(', ')}`,
  );

async function maySkipLookups(connection: Connection, tables: readonly TableShape[]): Promise<boolean> {
  const names = tables.map(({ schema, name }) => `'"${schema}"."${name}"'::regclass`).join(', ');
  const [known] = await connection.query<{ superuser: boolean; version: number; triggers: number }>(
    `select current_setting('is_superuser') = 'on' as superuser,
       current_setting('server_version_num')::int as version,
       (select count(*)::int from pg_trigger where tgrelid in (${names}) and not tgisinternal) as triggers`,
  );
  if (known === undefined || known.triggers > 0) return false;
  if (known.superuser || known.version < 150_000) return known.superuser;
  const [granted] = await connection.query<{ may: boolean }>(
    `select has_parameter_privilege('session_replication_role', 'set') as may`,
  );
  return granted?.may === true;
}

/** Returns a function that runs `copying`, part of a transaction, with these settings. */
export function createCopySettings(
  connection: Connection,
  { parent, children }: Pick<StreamShape, 'parent' | 'children'>,
): (copying: () => Promise<void>) => Promise<void> {
  let known: { readonly usual: SessionSettings; readonly forCopies: SessionSettings } | undefined;

  async function choose(): Promise<NonNullable<typeof known>> {
    const forCopies = (await maySkipLookups(connection, [parent, ...children])) ? AS_REPLICA : KEEP_PLANS;
    const values = Object.keys(forCopies).map((name) => `current_setting('${name}') as ${name}`);
    const [usual = {}] = await connection.query<SessionSettings>(`select ${values.join(', ')}`);
    return { usual, forCopies };
  }

  return async (copying) => {
    const { usual, forCopies } = (known ??= await choose());
    // The settings are sent before the first COPY, which does not wait for the response.
    await Promise.all([setLocally(connection, forCopies), copying()]);
    // The settings are not restored after a failure, because the rollback restores them. The promise is not awaited and
    // its failure is ignored, because every statement after it would fail too.
    void ignoreRejection(setLocally(connection, usual));
  };
}
