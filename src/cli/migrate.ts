import type { Command } from 'commander';
import { createApp } from '../app.ts';
import { adviseOnReader } from '../database/reader-role.ts';
import { loadConfig } from '../config/load-config.ts';
import { type AccountOption, addAccountOption } from './accounts.ts';
import type { CommandContext } from './command-context.ts';
import { formatNumber } from '../shared/format.ts';
import { EXIT } from './run-results.ts';

export async function runMigrate(
  { env, terminal, signal }: CommandContext,
  { account }: AccountOption,
): Promise<number> {
  const config = loadConfig(env, {
    needsService: false,
    isTerminal: terminal.isInteractive,
    accounts: account ?? [],
  });
  const app = await createApp({
    config,
    signal,
    say: (line) => terminal.note(terminal.noteColors.dim(line)),
  });
  try {
    const { applied, known, reader } = await app.migrate();
    terminal.print(
      applied === 0
        ? `The warehouse is up to date (${formatNumber(known, 'migration')}).`
        : `Applied ${formatNumber(applied, 'migration')}; the warehouse is up to date.`,
    );
    const advice = adviseOnReader(reader);
    if (advice !== null) terminal.note(advice);
    return EXIT.ok;
  } finally {
    await app.close();
  }
}

export function addMigrate(program: Command, context: CommandContext, exit: (code: number) => void): void {
  addAccountOption(program.command('migrate'))
    .description('apply the migrations; safe to run by several processes at once')
    .action(async (options: AccountOption) => exit(await runMigrate(context, options)));
}
