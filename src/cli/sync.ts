import type { Command } from 'commander';
import type { App } from '../app.ts';
import type { RunEvents, RunResult } from '../sync/run.ts';
import { syncStreams } from '../sync/sync-streams.ts';
import { type CommandContext, parseStreams, withApp } from './command-context.ts';
import { formatCount, formatDuration } from './format.ts';
import { exitCodeOf, printResults, toJsonResult } from './run-results.ts';

interface SyncOptions {
  readonly force?: true;
  readonly allowMassDelete?: true;
  readonly json?: true;
}

/** `2,000 read, 13 updated`: what is not 0. */
function describeCounts({ counts }: RunResult): string {
  const shown = (['read', 'inserted', 'updated', 'deleted', 'rejected'] as const).filter(
    (name) => name === 'read' || counts[name] > 0,
  );
  return shown.map((name) => `${formatCount(counts[name])} ${name}`).join(', ');
}

/** One log line a run, with everything; the sentence alone has to do at a terminal. */
export function logResult(app: Pick<App, 'log'>, result: RunResult): void {
  const fields = toJsonResult(result);
  switch (result.outcome) {
    case 'succeeded':
      app.log.info(
        fields,
        `${result.stream}: succeeded, ${describeCounts(result)} in ${formatDuration(result.durationMs)}`,
      );
      break;
    case 'skipped':
      app.log.info(fields, `${result.stream}: skipped, ${result.reason}`);
      break;
    case 'failed':
      app.log.error(fields, `${result.stream}: failed, ${result.error.code}: ${result.error.message}`);
      break;
  }
}

export function buildRunEvents(app: Pick<App, 'log'>): RunEvents {
  return {
    onWait: (stream, holder) => {
      const who =
        holder === undefined ? 'another run' : `run ${holder.run_id} (${holder.kind}, ${holder.owner})`;
      app.log.warn({ stream }, `${stream}: waiting for ${who} to finish with this stream`);
    },
    onDeadRuns: (stream, closed) => {
      app.log.warn({ stream, closed }, `${stream}: closed ${closed} run(s) of workers that had died`);
    },
  };
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
