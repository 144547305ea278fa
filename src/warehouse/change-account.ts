/**
 * Renames or removes an account. It holds the locks of all streams and records the change first, because it may be killed
 * at any point: then no run of the account begins until the same change has finished.
 */
import {
  type AccountChange,
  assertUnchanged,
  commandOf,
  readAccountChanges,
  recordAccountChange,
  removeAccountChange,
} from '../engine/control-tables/account-changes.ts';
import { confinementsIn, readPolicyTables } from './access.ts';
import {
  type AccountTable,
  countAccountRows,
  isOfConfiguration,
  readAccountTables,
  changeNextRows,
} from './account-tables.ts';
import { grantAccess, revokeAccess } from './change-access.ts';
import { readCitus } from './citus.ts';
import type { Connection, TextQueries } from '../engine/database/connection.ts';
import {
  openStreamSession,
  type StreamSession,
  tryStreamLock,
} from '../engine/control-tables/stream-session.ts';
import { SafetySyncError, usageError } from '../shared/errors.ts';
import { formatNumber } from '../shared/format.ts';
import { STREAM_NAMES } from '../engine/streams/index.ts';

interface ChangeContext {
  readonly databaseUrl: string;
  /** Changes the roles that may read the account, outside of the session with the locks. */
  readonly connection: Connection;
  readonly signal: AbortSignal;
  /** Called after each table. `rows`: with the rows of its children. */
  readonly onTable?: (table: string, rows: number) => void;
}

const busy = (message: string): SafetySyncError =>
  new SafetySyncError('account_busy', message, {
    advice: 'Stop the worker, or wait until the run is over; then try again.',
  });

/** Opens a session with the locks of all streams of these accounts. */
async function lockAccounts(context: ChangeContext, accounts: readonly string[]): Promise<StreamSession> {
  const keys = accounts.flatMap((accountId) => STREAM_NAMES.map((stream) => ({ accountId, stream })));
  const refuse = ({ stream, accountId }: (typeof keys)[number]) =>
    busy(`a run of ${stream} of account ${accountId} is under way`);
  const [first, ...others] = keys;
  if (first === undefined) throw new TypeError('no account to lock');
  const { databaseUrl } = context;
  const session = await openStreamSession({ databaseUrl, ...first, whenBusy: 'skip', changesAccount: true });
  if (session === undefined) throw refuse(first);
  try {
    for (const key of others) if (!(await tryStreamLock(session, key))) throw refuse(key);
    return session;
  } catch (error) {
    await session.close();
    throw error;
  }
}

/** Returns whether the change was begun before. Errors: `usage_invalid`, `account_busy`. */
async function hasBegun(
  connection: TextQueries,
  tables: readonly AccountTable[],
  change: AccountChange,
): Promise<boolean> {
  const { from, to } = change;
  const begun = await readAccountChanges(connection, to === null ? [from] : [from, to]);
  if (begun.some((one) => one.from === from && one.to === to)) return true;
  for (const account of to === null ? [from] : [from, to]) await assertUnchanged(connection, account);
  if ((await countAccountRows(connection, tables, from)).size === 0) {
    throw usageError(
      `nothing is stored of account ${from}`,
      'Accounts of which something is stored: safety-sync accounts',
    );
  }
  if (to === null) return false;
  const taken = await countAccountRows(
    connection,
    tables.filter((table) => !isOfConfiguration(table)),
    to,
  );
  if (taken.size > 0) {
    const rows = [...taken.values()].reduce((sum, count) => sum + count, 0);
    throw usageError(
      `account ${to} has ${formatNumber(rows, 'stored row')} already, in ${[...taken.keys()].join(', ')}`,
      `Choose another name, or, if these rows may go, first: ${commandOf({ from: to, to: null })} (while ${to} is not configured).`,
    );
  }
  return false;
}

/** Changes every role that is confined to the account. */
async function changeReaders(
  connection: Connection,
  change: (role: string) => Promise<unknown>,
  from: string,
): Promise<void> {
  const confined = confinementsIn(await readPolicyTables(connection));
  for (const { role, accounts } of confined) if (accounts.includes(from)) await change(role);
}

async function changeTable(
  session: StreamSession,
  table: AccountTable,
  { from, to, signal }: AccountChange & { readonly signal: AbortSignal },
): Promise<number> {
  let rows = 0;
  let after: readonly string[] | undefined;
  for (;;) {
    if (signal.aborted) {
      throw new SafetySyncError('interrupted', `account ${from} was not changed to the end`, {
        advice: `To go on: ${commandOf({ from, to })}`,
      });
    }
    await session.begin();
    const done = await changeNextRows(session.connection, table, { from, to, after });
    await session.commit({ isDurable: true });
    if (done === undefined) return rows;
    rows += done.rows;
    after = done.end;
  }
}

/**
 * Returns the number of rows that it has changed now. Errors: `usage_invalid` (the account has no rows, or the new name has
 * some), `account_busy`, `database_permission`.
 */
export async function changeAccount(context: ChangeContext, change: AccountChange): Promise<number> {
  const { from, to } = change;
  const { connection, signal } = context;
  if (to !== null && (await readCitus(connection))?.isDistributed === true) {
    throw usageError(
      'on a Citus cluster rows lie where the name of their account puts them: it cannot be changed',
      `Configure ${to}, let it read everything anew (safety-sync sync), and then: ${commandOf({ from, to: null })}`,
    );
  }
  const session = await lockAccounts(context, to === null ? [from] : [from, to]);
  try {
    const tables = await readAccountTables(session.connection);
    const isBegun = await hasBegun(session.connection, tables, change);
    await changeReaders(
      connection,
      (role) =>
        to === null
          ? revokeAccess(connection, { role, accounts: [from] })
          : grantAccess(connection, { role, accounts: [to], configured: [to] }),
      from,
    );
    if (!isBegun) await recordAccountChange(session.connection, change);
    let all = 0;
    for (const table of tables) {
      const rows = await changeTable(session, table, { ...change, signal });
      if (rows > 0) context.onTable?.(table.name, rows);
      all += rows;
    }
    if (to !== null) {
      await changeReaders(connection, (role) => revokeAccess(connection, { role, accounts: [from] }), from);
    }
    await removeAccountChange(session.connection, change);
    return all;
  } catch (error) {
    await session.rollback();
    throw error;
  } finally {
    await session.close();
  }
}
