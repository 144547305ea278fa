/**
 * Renames, removes or moves an account, under the locks of all its streams. A rename or removal is recorded first, because it
 * may be killed at any point: then no run of the account begins until the same change has finished.
 */
import { eq, getTableColumns, sql } from 'drizzle-orm';
import {
  type AccountChange,
  assertUnchanged,
  commandOf,
  readAccountChanges,
} from '../engine/control-tables/account-changes.ts';
import {
  backfillSlices,
  optionalMethods,
  sources,
  streamState,
} from '../engine/control-tables/control-tables.ts';
import type { Source } from '../engine/control-tables/sources.ts';
import { streamLockKey } from '../engine/control-tables/stream-session.ts';
import { toArrayLiteral } from '../engine/database/array-literal.ts';
import {
  type Connection,
  type Database,
  openConnection,
  type TextQueries,
} from '../engine/database/connection.ts';
import { STREAM_NAMES } from '../engine/streams/index.ts';
import { SafetySyncError, usageError } from '../shared/errors.ts';
import { HAS_ACCOUNT } from './access.ts';
import { isDistributed } from './citus.ts';

/** A table with an `account_id`, and its child tables. */
interface AccountTable {
  readonly name: string;
  /** Columns of the primary key, with commas between. */
  readonly key: string;
  /** The columns that hold the id of the row, by name of a child: foreign keys hold after every statement. */
  readonly children: Readonly<Record<string, string>>;
}

/** A worker or a check writes a row or two there for every configured account, before anything is stored. */
const OF_THE_CONFIGURATION = [
  'safety.reporting_settings',
  'safety_sync.outbox',
  'safety_sync.request_budget',
  'safety_sync.optional_methods',
  'safety_sync.sources',
];

/**
 * Rows of the source come before `stream_state`, so `complete_until` never covers rows that were not renamed yet.
 * `account_changes` is not changed, because it records the change. A foreign key begins with the account and the id.
 */
const ACCOUNT_TABLES = `select format('%I.%I', n.nspname, c.relname) as name, (
    select string_agg(quote_ident(a.attname), ', ' order by array_position(i.indkey::int2[], a.attnum)) from pg_index i
    join pg_attribute a on a.attrelid = i.indrelid and a.attnum = any (i.indkey) where i.indrelid = c.oid and i.indisprimary) as key, (
    with recursive k (oid, attnum) as (
      select conrelid, conkey[2] from pg_constraint where contype = 'f' and confrelid = c.oid
      union select f.conrelid, f.conkey[2] from k join pg_constraint f on f.contype = 'f' and f.confrelid = k.oid)
    select coalesce(json_object_agg(format('safety.%I', t.relname), a.attname), '{}')
    from k join pg_class t on t.oid = k.oid join pg_attribute a on a.attrelid = k.oid and a.attnum = k.attnum) as children
  from pg_class c join pg_namespace n on n.oid = c.relnamespace
  where n.nspname in ('safety', 'safety_sync') and c.relkind in ('r', 'p') and ${HAS_ACCOUNT} and c.relname <> 'account_changes'
  order by n.nspname, c.relname`;

const readTables = (connection: TextQueries) => connection.query<AccountTable>(ACCOUNT_TABLES);

/** Lists the accounts that have rows; the few rows that a worker writes for every configured account do not count. */
export async function readStoredAccounts(connection: TextQueries): Promise<string[]> {
  const rows = await connection.query<{ account_id: string }>(
    `select account_id from safety_sync.stream_state union select account_id from safety.labels
     union select account_id from safety_sync.forgotten union select account_id from safety_sync.account_changes
     order by 1`,
  );
  return rows.map((row) => row.account_id);
}

/** The rows of an account, and the tables that have some. */
export async function countAccountRows(connection: TextQueries, account: string) {
  const counts = (await readTables(connection)).map(
    ({ name }) => `select count(*) as rows from ${name} where account_id = $1`,
  );
  const [all] = await connection.query<{ rows: number; tables: number }>(
    `select sum(rows)::float8 as rows, (count(*) filter (where rows > 0))::int as tables from (${counts.join(' union all ')}) one`,
    [account],
  );
  return all ?? { rows: 0, tables: 0 };
}

/** Rows of a statement, without their children. */
const ROWS_AT_ONCE = 1000;

/** Changes the next rows of an account; returns their number. `$1`: the account, `$2`: its new name, if it gets one. */
function changeStatement({ name, key, children }: AccountTable, isRename: boolean): string {
  const id = key.split(', ')[1];
  const ofChildren = Object.entries(children).map(
    ([child, column], index) => `child_${index} as (update ${child} c set account_id = $2 from next
      where c.account_id = $1 and c.${column} = next.${id}), `,
  );
  return `with next as materialized (select ${key} from ${name} where account_id = $1 limit ${ROWS_AT_ONCE}),
    ${isRename ? ofChildren.join('') : ''}changed as (
      ${isRename ? `update ${name} set account_id = $2` : `delete from ${name}`}
      where account_id = $1 and (${key}) in (select ${key} from next) returning 1 as one)
    select count(*)::int as rows from changed`;
}

/** Runs `work` in a session with the locks of all streams of these accounts. Error: `account_busy`. */
async function withLocks<T>(
  url: string,
  accounts: readonly string[],
  work: (session: Connection) => Promise<T>,
): Promise<T> {
  const session = openConnection({ url, applicationName: 'safety-sync accounts', isSession: true });
  try {
    const locks = await session.query<{ account: string; stream: string; locked: boolean }>(
      `select account, stream, pg_try_advisory_lock(${streamLockKey('account', 'stream')}) as locked
       from unnest($1::text[]) account, unnest($2::text[]) stream`,
      [toArrayLiteral(accounts), toArrayLiteral(STREAM_NAMES)],
    );
    const busy = locks.find(({ locked }) => !locked);
    if (busy !== undefined) {
      throw new SafetySyncError(
        'account_busy',
        `a run of ${busy.stream} of account ${busy.account} is under way`,
        { advice: 'Stop the worker, or wait until the run is over; then try again.' },
      );
    }
    return await work(session);
  } finally {
    await session.close();
  }
}

/** Returns whether the change was begun before. Errors: `usage_invalid`, `account_busy`. */
async function hasBegun(connection: TextQueries, { from, to }: AccountChange): Promise<boolean> {
  const accounts = to === null ? [from] : [from, to];
  const begun = await readAccountChanges(connection, accounts);
  if (begun.some((one) => one.from === from && one.to === to)) return true;
  for (const account of accounts) await assertUnchanged(connection, account);
  if ((await countAccountRows(connection, from)).rows === 0) {
    throw usageError(
      `nothing is stored of account ${from}`,
      'Accounts of which something is stored: safety-sync accounts',
    );
  }
  if (to !== null && (await readStoredAccounts(connection)).includes(to)) {
    throw usageError(
      `something is stored of account ${to} already`,
      `Choose another name, or, if these rows may go, first: ${commandOf({ from: to, to: null })} (while ${to} is not configured).`,
    );
  }
  return false;
}

/** Every statement is a step that is committed alone. */
async function changeTables(session: TextQueries, { from, to }: AccountChange, signal: AbortSignal) {
  const tables = await readTables(session);
  const children = tables.flatMap((table) => Object.keys(table.children));
  for (const table of tables) {
    const { name } = table;
    if (children.includes(name)) continue;
    if (to !== null && OF_THE_CONFIGURATION.includes(name)) {
      const isMoving = `exists (select from ${name} where account_id = $1)`;
      await session.query(`delete from ${name} where account_id = $2 and ${isMoving}`, [from, to]);
    }
    const statement = changeStatement(table, to !== null);
    for (let rows = 1; rows > 0;) {
      if (signal.aborted) {
        throw new SafetySyncError('interrupted', `account ${from} was not changed to the end`, {
          advice: `To go on: ${commandOf({ from, to })}`,
        });
      }
      const [done] = await session.query<{ rows: number }>(statement, to === null ? [from] : [from, to]);
      rows = done?.rows ?? 0;
    }
  }
}

/** Confined roles read the account by its new name, or not any more. */
const CHANGE_READERS = `update safety_sync.reader_accounts
  set accounts = array_remove(array_replace(accounts, $1::text, $2::text), null) where accounts @> array[$1::text]`;

/**
 * Gives all rows of an account another name, or removes them if there is none. Errors: `usage_invalid` (the account has no
 * rows, or the new name has some), `account_busy`, `database_permission`.
 */
export async function changeAccount(
  databaseUrl: string,
  change: AccountChange,
  signal: AbortSignal,
): Promise<void> {
  const { from, to } = change;
  await withLocks(databaseUrl, to === null ? [from] : [from, to], async (session) => {
    if (to !== null && (await isDistributed(session))) {
      throw usageError(
        'on a Citus cluster rows lie where the name of their account puts them: it cannot be changed',
        `Configure ${to}, let it read everything anew (safety-sync sync), and then: ${commandOf({ from, to: null })}`,
      );
    }
    if (!(await hasBegun(session, change))) {
      const record = 'insert into safety_sync.account_changes (account_id, renamed_to) values ($1, $2)';
      await session.query(record, [from, to]);
    }
    await changeTables(session, change, signal);
    await session.query(CHANGE_READERS, [from, to]);
    await session.query('delete from safety_sync.account_changes where account_id = $1', [from]);
  });
}

/** Columns that are no position: they hold for what is stored, wherever it came from. */
const STAYING = ['account_id', 'stream', 'complete_until', 'retained_at', 'read_parts'];

/**
 * Gives the account another address, and resets its positions: each stream is read as if for the first time, and no method
 * counts as not offered. Error: `account_busy`.
 */
export const moveAccount = (
  databaseUrl: string,
  db: Database,
  { accountId, source }: { readonly accountId: string; readonly source: Source },
): Promise<void> =>
  withLocks(databaseUrl, [accountId], async (session) => {
    await assertUnchanged(session, accountId);
    const positions = Object.keys(getTableColumns(streamState)).filter((name) => !STAYING.includes(name));
    await db.transaction(async (tx) => {
      await tx
        .update(sources)
        .set({ ...source, moved_at: sql`now()` })
        .where(eq(sources.account_id, accountId));
      await tx
        .update(streamState)
        .set(Object.fromEntries(positions.map((name) => [name, sql`default`])))
        .where(eq(streamState.account_id, accountId));
      for (const table of [backfillSlices, optionalMethods])
        await tx.delete(table).where(eq(table.account_id, accountId));
    });
  });
