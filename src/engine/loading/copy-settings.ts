/**
 * How rows of new records reach the tables. PostgreSQL looks up the referenced row for each copied one; this is most of the
 * work of a first load and is redundant, because the rows of a record refer only to each other (a test of every stream), and
 * a record is stored as a whole.
 *
 * - A role that may set `session_replication_role` (a superuser, or from PostgreSQL 15 on a role with the grant) copies
 *   without the lookups, like a replica. The exception is a trigger on one of the tables, because the setting would disable it
 *   too.
 * - For other roles the lookups keep their plan. By default a session plans every statement again (tables grow meanwhile),
 *   including these lookups, and planning one takes twice as long as running it. The kept plan uses the key's index, however
 *   small the table still is.
 * - PostgreSQL refuses COPY where row-level security is active.
 */
import type { Connection } from '../database/connection.ts';
import type { StreamShape } from '../database/table-shape.ts';

/** Statements around the COPYs of a transaction. */
export interface CopySettings {
  readonly before: string;
  readonly after: string;
}

const setLocally = (settings: Readonly<Record<string, string>>): string =>
  `select ${Object.entries(settings)
    .map(([name, value]) => `set_config('${name}', '${value}', true)`)
    .join(', ')}`;

export const KEEP_PLANS: CopySettings = {
  before: setLocally({ plan_cache_mode: 'auto', enable_seqscan: 'off' }),
  after: setLocally({ plan_cache_mode: 'force_custom_plan', enable_seqscan: 'on' }),
};
const AS_REPLICA: CopySettings = {
  before: setLocally({ session_replication_role: 'replica' }),
  after: setLocally({ session_replication_role: 'origin' }),
};

/** null: rows cannot be copied into the tables. */
export async function readCopySettings(
  connection: Pick<Connection, 'query'>,
  { parent, children }: Pick<StreamShape, 'parent' | 'children'>,
): Promise<CopySettings | null> {
  const names = [parent, ...children].map(({ schema, name }) => `'"${schema}"."${name}"'::regclass`);
  const [role] = await connection.query<
    Record<'confined' | 'superuser' | 'triggered' | 'grantable', boolean>
  >(
    `select current_setting('is_superuser') = 'on' as superuser,
       current_setting('server_version_num')::int >= 150000 as grantable, row_security_active(${names[0]}) as confined,
       exists (select from pg_trigger where tgrelid in (${names.join(', ')}) and not tgisinternal) as triggered`,
  );
  if (role?.confined !== false) return null;
  if (role.triggered) return KEEP_PLANS;
  if (role.superuser || !role.grantable) return role.superuser ? AS_REPLICA : KEEP_PLANS;
  const [granted] = await connection.query<{ may: boolean }>(
    `select has_parameter_privilege('session_replication_role', 'set') as may`,
  );
  return granted?.may === true ? AS_REPLICA : KEEP_PLANS;
}
