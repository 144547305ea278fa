/** `safety_sync.account_changes`: accounts that are being renamed or removed. */
import { SafetySyncError } from '../../shared/errors.ts';
import { toArrayLiteral } from '../database/array-literal.ts';
import type { TextQueries } from '../database/connection.ts';

/** A rename of `from`; `to` null: a removal. */
export type AccountChange = Awaited<ReturnType<typeof readAccountChanges>>[number];

/** Reads the unfinished changes of these accounts, or of all. */
export const readAccountChanges = (connection: TextQueries, accounts: readonly string[] | null = null) =>
  connection.query<{ readonly from: string; readonly to: string | null }>(
    `select account_id as "from", renamed_to as "to" from safety_sync.account_changes
     where $1::text[] is null or account_id = any ($1) or renamed_to = any ($1) order by account_id`,
    [accounts && toArrayLiteral(accounts)],
  );

/** The command that finishes a change. */
export const commandOf = ({ from, to }: AccountChange): string =>
  to === null ? `safety-sync accounts remove ${from}` : `safety-sync accounts rename ${from} ${to}`;

export const describeChange = ({ from, to }: AccountChange): string =>
  to === null ? `account ${from} is being removed` : `account ${from} is being renamed to ${to}`;

/** Throws `account_busy` during a change. Called under the lock of a stream, because a run would store the moved rows again. */
export async function assertUnchanged(connection: TextQueries, account: string): Promise<void> {
  const [change] = await readAccountChanges(connection, [account]);
  if (change === undefined) return;
  throw new SafetySyncError('account_busy', `${describeChange(change)}, which was not finished`, {
    advice: `Finish it with the same command: ${commandOf(change)}`,
  });
}
