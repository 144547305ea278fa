/** What verbs have in common that do something for every account. */
import type { Command } from 'commander';
import pLimit from 'p-limit';
import type { Account, App } from '../app.ts';
import type { RunResult } from '../sync/run.ts';

/** Option `--account` of a verb. */
export interface AccountOption {
  readonly account?: readonly string[];
}

export function addAccountOption(command: Command): Command {
  return command.option(
    '--account <name>',
    'only this account; can be given several times (default: all that are configured)',
    (name: string, before: readonly string[] | undefined) => [...(before ?? []), name],
  );
}

/** Streams of one account that run side by side at most: the bound over all accounts is shared out in these. */
const STREAMS_OF_AN_ACCOUNT = 4;

/** Several accounts side by side within SYNC_CONCURRENCY; results in the accounts' order. One's failure is its own. */
export async function forEachAccount<T>(app: App, work: (account: Account) => Promise<T>): Promise<T[]> {
  const atOnce = Math.max(1, Math.floor(app.config.syncConcurrency / STREAMS_OF_AN_ACCOUNT));
  const limit = pLimit(atOnce);
  return await Promise.all(app.accounts.map((account) => limit(() => work(account))));
}

/** Results of one account. */
export interface AccountResults {
  readonly accountId: string;
  readonly results: readonly RunResult[];
}

/** Elements of JSON say whose they are where there are several accounts; for one nothing is added. */
export function accountFields(isMany: boolean, accountId: string): { readonly account_id?: string } {
  return isMany ? { account_id: accountId } : {};
}

/** How an account's stream is called in a sentence. */
export function streamLabel(isMany: boolean, accountId: string, stream: string): string {
  return isMany ? `${accountId} ${stream}` : stream;
}
