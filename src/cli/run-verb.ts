/** Runs the streams of every account for a verb: logs each run when it ends, and prints a summary at the end. */
import pLimit from 'p-limit';
import type { Account, App } from '../app.ts';
import type { StreamName } from '../engine/streams/stream.ts';
import { type SyncRequest, syncStreams } from '../engine/sync/sync-streams.ts';
import { buildRunEvents, logResult } from '../operate/worker/run-log.ts';
import { createProgress } from './progress.ts';
import { accountFields, type AccountResult, outputOf } from './run-results.ts';
import { type CommonOptions, type CommandContext, isAtTerminal, runWithApp } from './verb.ts';

/** At once, because each of their runs has a database session. */
const MOST_ACCOUNTS = 5;

interface RunAccountsRequest extends Omit<SyncRequest, 'streams' | 'trigger' | 'onResult'> {
  readonly streamsOf: (account: Account) => readonly StreamName[];
  /** The output goes to a terminal and contains every result. */
  readonly isAtTerminal: boolean;
}

/**
 * Runs several accounts in parallel, and returns the results in the order of the accounts. A
 * failure of one account does not affect the others.
 */
export async function runAccounts(app: App, request: RunAccountsRequest): Promise<AccountResult[]> {
  const { streamsOf, isAtTerminal, ...settings } = request;
  const { kind } = settings;
  // A backfill alone uses all the concurrency that its service allows, and the progress bar.
  const limit = pLimit(kind === 'backfill' ? 1 : MOST_ACCOUNTS);
  const runAccount = async (account: Account): Promise<AccountResult[]> => {
    // A first sync reads follow-ups as a backfill does. Progress of several accounts would overwrite each other.
    const hasProgress = kind === 'backfill' || (isAtTerminal && app.accounts.length === 1);
    const progress = hasProgress ? createProgress(account.log, isAtTerminal) : undefined;
    try {
      const events = { ...buildRunEvents(account), ...progress?.events };
      const results = await syncStreams(account.runContext(events), {
        ...settings,
        streams: streamsOf(account),
        trigger: 'manual',
        onResult: (result) => {
          progress?.stop(result.stream);
          // At a terminal the output contains the reason of a skip, so the log omits it.
          logResult(account, result, { kind, isKnown: isAtTerminal && result.outcome === 'skipped' });
        },
      });
      const own = accountFields(app.accounts.length > 1, account.id);
      return results.map((result) => ({ ...own, result }));
    } finally {
      progress?.stop();
    }
  };
  return (await Promise.all(app.accounts.map((account) => limit(runAccount, account)))).flat();
}

interface RunVerbRequest extends Omit<RunAccountsRequest, 'streamsOf' | 'isAtTerminal'> {
  readonly streams: readonly StreamName[];
  /** Lines below the table, about the findings. */
  readonly describe?: (all: readonly AccountResult[]) => readonly string[];
}

export async function runVerb(
  context: CommandContext,
  options: CommonOptions,
  { streams, describe = () => [], ...request }: RunVerbRequest,
): Promise<number> {
  return await runWithApp(
    context,
    { ...options, needsService: true, migrates: true, stores: true },
    async (app) => {
      const all = await runAccounts(app, {
        ...request,
        streamsOf: () => streams,
        isAtTerminal: isAtTerminal(context, app, options),
      });
      return outputOf(all, context.terminal, describe(all));
    },
  );
}
