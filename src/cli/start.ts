import type { Command } from 'commander';
import { VERSION } from '../version.ts';
import { describeConfig } from '../worker/describe-config.ts';
import { runWorker } from '../worker/run-worker.ts';
import { type AccountOption, addAccountOption } from './accounts.ts';
import { type CommandContext, withApp } from './command-context.ts';
import { EXIT } from './run-results.ts';

export async function runStart(context: CommandContext, { account }: AccountOption): Promise<number> {
  // The worker migrates by itself, as soon as the database is there.
  return await withApp(
    context,
    {
      needsService: true,
      migrates: 'by_itself',
      accounts: account,
      // Before the database is asked and the port is bound: whatever hangs then, the log says who it is.
      begin: (config, log) => log.info(describeConfig(config, VERSION), `safety-sync ${VERSION} is starting`),
    },
    async (app) => {
      await runWorker(app);
      return EXIT.ok;
    },
  );
}

export function addStart(program: Command, context: CommandContext, exit: (code: number) => void): void {
  addAccountOption(program.command('start'))
    .description(
      'the long-lived worker: migrates, syncs on schedule, serves health, metrics and a status page, stops on SIGTERM',
    )
    .action(async (options: AccountOption) => exit(await runStart(context, options)));
}
