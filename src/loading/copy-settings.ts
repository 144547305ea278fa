/**
 * How PostgreSQL checks foreign keys while rows of new records are copied. Each row is looked up in the table that it
 * refers to; that is most of the work of a first load, and says nothing new here: whoever copies has made sure that all
 * that a row refers to goes into the tables in the same transaction (references.ts).
 *
 * - Who may set `session_replication_role` (a superuser; from PostgreSQL 15 on whoever was granted it) copies without the
 *   lookups, as a replica does. Not where somebody has put a trigger on one of the tables: it would be silent too.
 * - For everybody else the lookups keep their plan. A session plans every statement anew (tables grow under it), and
 *   lookups are statements like any other: planning one takes twice as long as doing it. The plan that is kept uses the
 *   key's index, however small the table still is.
 */
import { meetLater } from '../shared/meet-later.ts';
import type { Connection } from '../database/connection.ts';
import type { StreamShape } from '../database/table-shape.ts';
import type { TableShape } from '../database/table-shape.ts';

type Settings = Readonly<Record<string, string>>;

const KEEP_PLANS: Settings = { plan_cache_mode: 'auto', enable_seqscan: 'off' };
const AS_REPLICA: Settings = { session_replication_role: 'replica' };

/** Until the end of the transaction. */
const setLocally = (connection: Connection, settings: Settings) =>
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

interface CopySettings {
  /** Runs `copying`, part of a transaction, with these settings. */
  during(copying: () => Promise<void>): Promise<void>;
}

export function createCopySettings(
  connection: Connection,
  { parent, children }: Pick<StreamShape, 'parent' | 'children'>,
): CopySettings {
  let known: { readonly usual: Settings; readonly forCopies: Settings } | undefined;

  async function choose(): Promise<NonNullable<typeof known>> {
    const forCopies = (await maySkipLookups(connection, [parent, ...children])) ? AS_REPLICA : KEEP_PLANS;
    const values = Object.keys(forCopies).map((name) => `current_setting('${name}') as ${name}`);
    const [usual = {}] = await connection.query<Settings>(`select ${values.join(', ')}`);
    return { usual, forCopies };
  }

  return {
    async during(copying) {
      const { usual, forCopies } = (known ??= await choose());
      // On its way before the first COPY; nobody needs to wait for it.
      await Promise.all([setLocally(connection, forCopies), copying()]);
      // Not after a failure: the transaction is given up, and with it what it set. Nobody needs to wait for it, nor to
      // hear of its failure: every statement after it would fail too.
      void meetLater(setLocally(connection, usual));
    },
  };
}
