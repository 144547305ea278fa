import { Command, CommanderError } from 'commander';
import { ERROR_KINDS, SafetySyncError } from '../shared/errors.ts';
import { VERSION } from '../version.ts';
import { addBackfill } from './backfill.ts';
import { addCheck } from './check.ts';
import type { CommandContext } from './command-context.ts';
import { addDataIssues } from './data-issues.ts';
import { addDemo } from './demo.ts';
import { addMigrate } from './migrate.ts';
import { EXIT } from './run-results.ts';
import { addReconcile } from './reconcile.ts';
import { addReport } from './report.ts';
import { addRuns } from './runs.ts';
import { addSandbox } from './sandbox.ts';
import { addStart } from './start.ts';
import { addStatus } from './status.ts';
import { addSync } from './sync.ts';

const OVERVIEW = `
Settings are environment variables, each also as NAME_FILE=path; see .env.example.
Without DATABASE_URL an embedded PostgreSQL in .data/postgres is used.

Exit codes: 0 success or nothing to do, 1 a stream failed, 2 bad usage or configuration,
3 the service refused the credentials.

To see it work without any configuration: safety-sync demo`;

export function buildProgram(context: CommandContext, exit: (code: number) => void): Command {
  const program = new Command('safety-sync')
    .description('Keeps a PostgreSQL warehouse in step with a workplace-safety service.')
    .version(VERSION)
    .showHelpAfterError('(see safety-sync --help)')
    .addHelpText('after', OVERVIEW)
    .exitOverride();
  addDemo(program, context, exit);
  addCheck(program, context, exit);
  addMigrate(program, context, exit);
  addSync(program, context, exit);
  addBackfill(program, context, exit);
  addReconcile(program, context, exit);
  addStart(program, context, exit);
  addStatus(program, context, exit);
  addRuns(program, context, exit);
  addReport(program, context, exit);
  addDataIssues(program, context, exit);
  addSandbox(program, context, exit);
  for (const command of program.commands)
    command.exitOverride().showHelpAfterError(`(see safety-sync ${command.name()} --help)`);
  return program;
}

function exitCodeOfError(error: SafetySyncError): number {
  switch (error.recovery) {
    case 'fix_usage':
      return EXIT.usage;
    case 'fail_run':
      return EXIT.refused;
    case 'retry':
    case 'fail_stream':
      return EXIT.failed;
  }
}

/** Runs the command line; answers the exit code. */
export async function runProgram(argv: readonly string[], context: CommandContext): Promise<number> {
  let code: number = EXIT.ok;
  const program = buildProgram(context, (verbCode) => (code = verbCode));
  try {
    await program.parseAsync(argv, { from: 'user' });
    return code;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.ok : EXIT.usage;
    if (!(error instanceof SafetySyncError)) throw error;
    const { noteColors } = context.terminal;
    context.terminal.note(`${noteColors.red(error.code)}: ${error.message}`);
    context.terminal.note(ERROR_KINDS[error.code].advice);
    return exitCodeOfError(error);
  }
}
