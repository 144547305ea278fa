import type { Command } from 'commander';
import { buildApiClient, createApp } from '../app.ts';
import { type Check, checkDatabase } from '../ops/check-database.ts';
import { checkService } from '../ops/check-service.ts';
import { type Config, loadConfig } from '../config/load-config.ts';
import { SafetySyncError } from '../shared/errors.ts';
import { createLogger } from '../shared/logger.ts';
import type { CommandContext } from './command-context.ts';
import { EXIT } from './run-results.ts';
import type { Colors } from './terminal.ts';

/** Retries would only make a person wait for what they came to see. */
const CHECK_RETRIES = 1;

function renderCheck(check: Check, colors: Colors): string {
  const marks = { ok: colors.green('ok  '), failed: colors.red('FAIL'), skipped: colors.yellow('skip') };
  const advice = check.advice === null ? '' : `\n       ${check.advice}`;
  return `${marks[check.result]}  ${colors.bold(check.what)}: ${check.finding}${advice}`;
}

async function checkWarehouse(context: CommandContext, config: Config): Promise<Check[]> {
  const say = (line: string) => context.terminal.note(context.terminal.noteColors.dim(line));
  try {
    const app = await createApp({ config, signal: context.signal, say });
    try {
      return await checkDatabase(app.warehouse.connection, config.accountId);
    } finally {
      await app.close();
    }
  } catch (error) {
    if (!(error instanceof SafetySyncError)) throw error;
    return [
      { what: 'database', result: 'failed', finding: error.message, advice: error.advice, code: error.code },
    ];
  }
}

export function exitCodeOfChecks(checks: readonly Check[]): number {
  const failed = checks.filter((check) => check.result === 'failed');
  if (failed.some((check) => check.isRefusal === true)) return EXIT.refused;
  return failed.length > 0 ? EXIT.failed : EXIT.ok;
}

export async function runCheck(context: CommandContext, options: { json?: true }): Promise<number> {
  const { terminal } = context;
  const config = loadConfig(context.env, { needsService: true, isTerminal: terminal.isInteractive });
  const checks: Check[] = [];
  const tell = (more: readonly Check[]) => {
    checks.push(...more);
    if (!options.json) for (const check of more) terminal.print(renderCheck(check, terminal.colors));
  };
  tell([{ what: 'configuration', result: 'ok', finding: 'every variable is usable', advice: null }]);
  tell(await checkWarehouse(context, config));
  const quiet = createLogger({ level: 'silent', format: 'json', colorize: false, secrets: [] });
  const api = buildApiClient({ ...config, api: { ...config.api, retryAttempts: CHECK_RETRIES } }, quiet);
  try {
    await checkService({
      api,
      equipmentTypes: config.equipmentTypes,
      signal: context.signal,
      tell: (one) => tell([one]),
    });
  } finally {
    await api.close();
  }
  const failed = checks.filter((check) => check.result === 'failed').length;
  if (options.json) terminal.print(JSON.stringify({ checks }));
  else
    terminal.print(
      failed === 0 ? '\nEverything is in order.' : `\n${failed} of ${checks.length} checks failed.`,
    );
  return exitCodeOfChecks(checks);
}

export function addCheck(program: Command, context: CommandContext, exit: (code: number) => void): void {
  program
    .command('check')
    .description('test configuration, database and service, and say what is wrong and what to do')
    .option('--json', 'as JSON on stdout')
    .action(async (options: { json?: true }) => exit(await runCheck(context, options)));
}
