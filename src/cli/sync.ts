import type { Command } from 'commander';
import { STREAM_NAMES } from '../streams/index.ts';
import { syncStreams } from '../sync/sync-streams.ts';
import { type AccountOption, addAccountOption, forEachAccount } from './accounts.ts';
import { type CommandContext, isAtTerminal, parseStreams, withApp } from './command-context.ts';
import { buildRunEvents } from '../worker/run-report.ts';
import { exitCodeOfAccounts, logRun, printResults, toJsonResults } from './run-results.ts';

interface SyncOptions extends AccountOption {
  readonly force?: true;
  readonly allowMassDelete?: true;
  readonly json?: true;
}

export async function runSync(
  context: CommandContext,
  names: readonly string[],
  options: SyncOptions,
): Promise<number> {
  const streams = parseStreams(names);
  return await withApp(
    context,
    { needsService: true, migrates: true, accounts: options.account },
    async (app) => {
      const all = await forEachAccount(app, async (account) => ({
        accountId: account.id,
        results: await syncStreams(account.runContext(buildRunEvents(account)), {
          streams,
          kind: 'sync',
          trigger: 'manual',
          force: options.force ?? false,
          allowMassDelete: options.allowMassDelete ?? false,
          onResult: (result) =>
            logRun(account, result, { kind: 'sync', isAtTerminal: isAtTerminal(context, app) }),
        }),
      }));
      if (options.json) context.terminal.print(JSON.stringify({ runs: toJsonResults(all) }));
      else printResults(all, context.terminal);
      return exitCodeOfAccounts(all);
    },
  );
}

export function addSync(program: Command, context: CommandContext, exit: (code: number) => void): void {
  addAccountOption(program.command('sync'))
    .description('one sync now, of all streams or the named ones, then exits')
    .argument('[stream...]', STREAM_NAMES.join(', '))
    .option('--force', 'ignore "nothing can have changed yet" (the training cache)')
    .option('--allow-mass-delete', 'accept a snapshot that the delete guard would refuse')
    .option('--json', 'the result as JSON on stdout')
    .action(async (names: string[], options: SyncOptions) => exit(await runSync(context, names, options)));
}
