import { Command, CommanderError } from 'commander';
import { SafetySyncError } from '../shared/errors.ts';
import { VERSION } from '../version.ts';
import { toKnownError } from '../database/database-error.ts';
import { access } from './access.ts';
import { alerts } from './alerts.ts';
import { backfill } from './backfill.ts';
import { check } from './check.ts';
import { dataIssues } from './data-issues.ts';
import { demo } from './demo.ts';
import { labels } from './labels.ts';
import { forget } from './forget.ts';
import { migrate } from './migrate.ts';
import { reconcile } from './reconcile.ts';
import { privacy } from './privacy.ts';
import { report } from './report.ts';
import { EXIT } from './run-results.ts';
import { runs } from './runs.ts';
import { sandbox } from './sandbox.ts';
import { start } from './start.ts';
import { status } from './status.ts';
import { sync } from './sync.ts';
import { verify } from './verify.ts';
import { type CommandContext, toCommand, type Verb } from './verb.ts';

/** In the order of the help text. */
const VERBS: readonly Verb[] = [
  demo,
  check,
  migrate,
  sync,
  backfill,
  reconcile,
  start,
  status,
  runs,
  alerts,
  report,
  labels,
  dataIssues,
  verify,
  access,
  privacy,
  forget,
  sandbox,
];

const OVERVIEW = `
Settings are environment variables, each also as NAME_FILE=path; see .env.example.
Without DATABASE_URL an embedded PostgreSQL in .data/postgres is used.

Exit codes: 0 success or nothing to do, 1 a stream failed (verify: a record differs), 2 bad usage or configuration,
3 the service refused the credentials.

To see it work without any configuration: safety-sync demo`;

export function buildProgram(context: CommandContext, exit: (code: number) => void): Command {
  const program = new Command('safety-sync')
    .description('Keeps a PostgreSQL warehouse in step with a workplace-safety service.')
    .version(VERSION)
    .showHelpAfterError('(see safety-sync --help)')
    .addHelpText('after', OVERVIEW)
    // As for verbs that have verbs behind them.
    .enablePositionalOptions()
    .exitOverride();
  for (const verb of VERBS) program.addCommand(toCommand(verb, context, exit));
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
    case 'tell_later':
      return EXIT.failed;
  }
}

/** Where a defect was noticed; the message, which may hold anything, is told with its code. */
function framesOf({ cause }: SafetySyncError): string {
  const frames = cause instanceof Error ? (cause.stack ?? '').split('\n') : [];
  return frames.filter((line) => /^ {4}at /.test(line)).join('\n');
}

function tellError(error: SafetySyncError, { terminal }: CommandContext): void {
  terminal.note(`${terminal.noteColors.red(error.code)}: ${error.message}`);
  terminal.note(error.advice);
  if (error.code === 'internal_error') terminal.note(framesOf(error));
}

/** With `--json` stdout is one JSON object, also when the verb did not get as far as its result. */
function printJsonError(error: SafetySyncError, { terminal }: CommandContext): void {
  const { code, message, advice, requestId } = error;
  terminal.print(JSON.stringify({ error: { code, message, advice, request_id: requestId ?? null } }));
}

/** Runs the command line; returns the exit code. */
export async function runProgram(argv: readonly string[], context: CommandContext): Promise<number> {
  let code: number = EXIT.ok;
  const program = buildProgram(context, (verbCode) => (code = verbCode));
  const isJson = argv.includes('--json');
  try {
    await program.parseAsync(argv, { from: 'user' });
    return code;
  } catch (caught) {
    if (caught instanceof CommanderError) {
      // Commander has told it on stderr.
      if (caught.exitCode === 0) return EXIT.ok;
      const message = caught.message.replace(/^error: /, '');
      if (isJson) printJsonError(new SafetySyncError('usage_invalid', message), context);
      return EXIT.usage;
    }
    const error = toKnownError(caught);
    tellError(error, context);
    if (isJson) printJsonError(error, context);
    return exitCodeOfError(error);
  }
}
