import type { Command } from 'commander';
import type { RunResult } from '../sync/run.ts';
import { syncStreams } from '../sync/sync-streams.ts';
import { type AccountOption, addAccountOption, forEachAccount, streamLabel } from './accounts.ts';
import { type CommandContext, parseStreams, withApp } from './command-context.ts';
import { formatCount, formatNumber } from '../shared/format.ts';
import { exitCodeOfAccounts, printResults, toJsonResults } from './run-results.ts';
import { buildRunEvents, logResult } from '../ops/run-report.ts';

interface ReconcileOptions extends AccountOption {
  readonly json?: true;
  readonly allowMassDelete?: true;
}

/** What the sweep put right, in a sentence. */
export function describeRepair(result: RunResult, label: string = result.stream): string | null {
  if (result.outcome !== 'succeeded') return null;
  const { inserted, updated, deleted } = result.counts;
  const found =
    inserted + updated + deleted === 0
      ? 'everything was in step'
      : `${formatCount(inserted)} were missing, ${formatCount(updated)} differed, ${formatCount(deleted)} are gone at the source; repaired`;
  const missed =
    result.repaired === null || result.repaired === 0
      ? ''
      : `; ${formatNumber(result.repaired, 'change')} of them an earlier sync should have brought: please report this`;
  return `${label}: ${found}${missed}`;
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
          onResult: (result) => logResult(account, result, { kind: 'reconcile' }),
        }),
      }));
      if (options.json) {
        context.terminal.print(JSON.stringify({ runs: toJsonResults(all) }));
      } else {
        printResults(all, context.terminal);
        const repairs = all
          .flatMap(({ accountId, results }) =>
            results.map((result) =>
              describeRepair(result, streamLabel(all.length > 1, accountId, result.stream)),
            ),
          )
          .filter((line) => line !== null);
        if (repairs.length > 0) context.terminal.print(`\n${repairs.join('\n')}`);
      }
      return exitCodeOfAccounts(all);
    },
  );
}

export function addReconcile(program: Command, context: CommandContext, exit: (code: number) => void): void {
  addAccountOption(program.command('reconcile'))
    .description(
      'full sweep: also finds what was deleted at the source and what any sync missed; says what it repaired',
    )
    .argument('[stream...]', 'resources, followups, training-employee-status, equipments, users')
    .option('--allow-mass-delete', 'accept a sweep that the delete guard would refuse')
    .option('--json', 'as JSON on stdout')
    .action(async (names: string[], options: ReconcileOptions) =>
      exit(await runReconcile(context, names, options)),
    );
}
