import type { Command } from 'commander';
import type { RunResult } from '../sync/run.ts';
import { STREAM_NAMES } from '../streams/index.ts';
import { syncStreams } from '../sync/sync-streams.ts';
import { type AccountOption, addAccountOption, forEachAccount, streamLabel } from './accounts.ts';
import { type CommandContext, isAtTerminal, parseStreams, withApp } from './command-context.ts';
import { formatCount } from '../shared/format.ts';
import { exitCodeOfAccounts, logRun, printResults, toJsonResults } from './run-results.ts';
import { buildRunEvents } from '../worker/run-report.ts';

interface ReconcileOptions extends AccountOption {
  readonly json?: true;
  readonly allowMassDelete?: true;
}

/** The sweep's own verdict on the syncs before it; null of streams whose every sync reads everything. */
function describeMissed(repaired: number | null): string | null {
  if (repaired === null) return null;
  return repaired === 0
    ? 'no sync had missed anything'
    : `${formatCount(repaired)} of them an earlier sync should have brought: repaired now, please report this`;
}

/** What merely happened since the last sync is no repair: that is what earlier syncs should have brought. */
export function describeSweep(result: RunResult, label: string = result.stream): string | null {
  if (result.outcome !== 'succeeded') return null;
  const { inserted, updated, deleted, unchanged } = result.counts;
  const found = [
    ...(inserted > 0 ? [`${formatCount(inserted)} new`] : []),
    ...(updated > 0 ? [`${formatCount(updated)} changed`] : []),
    ...(deleted > 0 ? [`${formatCount(deleted)} gone at the source`] : []),
  ];
  const isFirst = updated + deleted + unchanged === 0;
  const since = isFirst ? '' : ' since the last sync';
  const news = found.length === 0 ? 'everything was in step' : `${found.join(', ')}${since}`;
  const sentence = [news, describeMissed(result.repaired)].filter((part) => part !== null).join('; ');
  // Only a sweep that can say what was missed reads in two passes.
  const twice =
    result.repaired === null
      ? ''
      : ' (what changed lately was read first and once more with everything else: read and unchanged count it twice)';
  return `${label}: ${sentence}${twice}`;
}

export async function runReconcile(
  context: CommandContext,
  names: readonly string[],
  options: ReconcileOptions,
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
          kind: 'reconcile',
          trigger: 'manual',
          force: true,
          allowMassDelete: options.allowMassDelete ?? false,
          onResult: (result) =>
            logRun(account, result, { kind: 'reconcile', isAtTerminal: isAtTerminal(context, app) }),
        }),
      }));
      if (options.json) {
        context.terminal.print(JSON.stringify({ runs: toJsonResults(all) }));
      } else {
        printResults(all, context.terminal);
        const sweeps = all
          .flatMap(({ accountId, results }) =>
            results.map((result) =>
              describeSweep(result, streamLabel(all.length > 1, accountId, result.stream)),
            ),
          )
          .filter((line) => line !== null);
        if (sweeps.length > 0) context.terminal.print(`\n${sweeps.join('\n')}`);
      }
      return exitCodeOfAccounts(all);
    },
  );
}

export function addReconcile(program: Command, context: CommandContext, exit: (code: number) => void): void {
  addAccountOption(program.command('reconcile'))
    .description(
      'full sweep: also finds what was deleted at the source and what any sync missed; says what it found and repaired',
    )
    .argument('[stream...]', STREAM_NAMES.join(', '))
    .option('--allow-mass-delete', 'accept a sweep that the delete guard would refuse')
    .option('--json', 'as JSON on stdout')
    .action(async (names: string[], options: ReconcileOptions) =>
      exit(await runReconcile(context, names, options)),
    );
}
