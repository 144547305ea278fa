import type { Command } from 'commander';
import { syncStreams } from '../sync/sync-streams.ts';
import { type CommandContext, parseStreams, withApp } from './command-context.ts';
import { buildRunEvents, logResult, toJsonResult } from '../ops/run-report.ts';
import { exitCodeOf, printResults } from './run-results.ts';

interface SyncOptions {
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
  return await withApp(context, { needsService: true, migrates: true }, async (app) => {
    const results = await syncStreams(app.runContext(buildRunEvents(app)), {
      streams,
      kind: 'sync',
      trigger: 'manual',
      force: options.force ?? false,
      allowMassDelete: options.allowMassDelete ?? false,
      onResult: (result) => logResult(app, result),
    });
    if (options.json) context.terminal.print(JSON.stringify({ runs: results.map(toJsonResult) }));
    else printResults(results, context.terminal);
    return exitCodeOf(results);
  });
}

export function addSync(program: Command, context: CommandContext, exit: (code: number) => void): void {
  program
    .command('sync')
    .description('one sync now, of all streams or the named ones, then exits')
    .argument('[stream...]', 'resources, followups, training-employee-status, equipments, users')
    .option('--force', 'ignore "nothing can have changed yet" (the training cache)')
    .option('--allow-mass-delete', 'accept a snapshot that the delete guard would refuse')
    .option('--json', 'the result as JSON on stdout')
    .action(async (names: string[], options: SyncOptions) => exit(await runSync(context, names, options)));
}
