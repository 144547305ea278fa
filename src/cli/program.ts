import { Command, CommanderError, Help } from 'commander';
import { type SafetySyncError, usageError } from '../shared/errors.ts';
import { VERSION } from '../version.ts';
import { toKnownError } from '../engine/database/database-error.ts';
import { EXIT, EXIT_CODE_OF, EXIT_CODES } from './run-results.ts';
import { type CommandContext, type Run, runVerb, toCommand, type Verb } from './verb.ts';

/** By the groups of the help text. A run loads its own verb alone: the others would take another tenth of its memory. */
const GROUPS: Readonly<Record<string, Readonly<Record<string, () => Promise<Verb>>>>> = {
  'First day:': {
    demo: async () => (await import('./verbs/demo.ts')).demo,
    check: async () => (await import('./check/check.ts')).check,
    sync: async () => (await import('./verbs/sync.ts')).sync,
    start: async () => (await import('./verbs/start.ts')).start,
    status: async () => (await import('./verbs/status.ts')).status,
  },
  'Data:': {
    report: async () => (await import('./verbs/report.ts')).report,
    labels: async () => (await import('./verbs/labels.ts')).labels,
    runs: async () => (await import('./verbs/runs.ts')).runs,
    'data-issues': async () => (await import('./verbs/data-issues.ts')).dataIssues,
    verify: async () => (await import('./verbs/verify.ts')).verify,
    reconcile: async () => (await import('./verbs/sync.ts')).reconcile,
    backfill: async () => (await import('./verbs/backfill.ts')).backfill,
  },
  'People:': {
    forget: async () => (await import('./verbs/forget.ts')).forget,
    access: async () => (await import('./verbs/access.ts')).access,
  },
  'Accounts and operation:': {
    accounts: async () => (await import('./verbs/accounts.ts')).accounts,
    'equipment-types': async () => (await import('./verbs/equipment-types.ts')).equipmentTypes,
    alerts: async () => (await import('./verbs/alerts.ts')).alerts,
    migrate: async () => (await import('./verbs/migrate.ts')).migrate,
    settings: async () => (await import('./verbs/settings.ts')).settings,
    sandbox: async () => (await import('./verbs/sandbox.ts')).sandbox,
  },
};
const VERBS = Object.assign({}, ...Object.values(GROUPS)) as Readonly<Record<string, () => Promise<Verb>>>;

function overview(): string {
  const help = new Help();
  if (process.stdout.isTTY) help.helpWidth = process.stdout.columns;
  const width = Math.max(...EXIT_CODES.map(([codes]) => codes.length));
  return `
Settings are environment variables, each also as NAME_FILE=path; all there are:
  safety-sync settings
Without DATABASE_URL an embedded PostgreSQL in .data/postgres is used.

Exit codes:
${EXIT_CODES.map(([codes, meaning]) => help.formatItem(codes, width, meaning, help)).join('\n')}

To see it work without any configuration: safety-sync demo`;
}

/** Contains only the verb at the beginning of `argv`, or all verbs if there is none. */
export async function buildProgram(run: Run, [first = '']: readonly string[] = []): Promise<Command> {
  const program = new Command('safety-sync')
    .description('Keeps a PostgreSQL warehouse in step with a workplace-safety service.')
    .version(VERSION, '-v, --version', 'print the version')
    .showHelpAfterError('(see safety-sync --help)')
    .addHelpText('after', overview)
    // Commander requires this for verbs that have verbs of their own, such as `labels import`.
    .enablePositionalOptions()
    .exitOverride();
  for (const [group, verbs] of Object.entries(GROUPS)) {
    program.commandsGroup(group);
    for (const [name, load] of Object.entries(verbs)) {
      if (name === first || !(Object.hasOwn(VERBS, first) || first === '--version'))
        program.addCommand(toCommand(name, await load(), run));
    }
  }
  // In the last group.
  return program.helpCommand('help [command]', 'print the help of a command');
}

/** The places in the code of a defect, without its message, which is printed with its code. */
function framesOf({ cause }: SafetySyncError): string {
  const frames = cause instanceof Error ? (cause.stack ?? '').split('\n') : [];
  return frames.filter((line) => /^ {4}at /.test(line)).join('\n');
}

/**
 * Runs the command line; returns the exit code. With `--json` stdout is one JSON object, also if the verb failed before its
 * result.
 */
export async function runProgram(argv: readonly string[], context: CommandContext): Promise<number> {
  const { terminal, signal } = context;
  let exitCode: number = EXIT.ok;
  const run: Run = async (verb, command) => {
    exitCode = await runVerb(verb, context, command);
  };
  const program = await buildProgram(run, argv);
  try {
    await program.parseAsync(argv, { from: 'user' });
    return exitCode;
  } catch (caught) {
    const isOfCommander = caught instanceof CommanderError;
    if (isOfCommander && caught.exitCode === 0) return EXIT.ok;
    const error = isOfCommander
      ? usageError(caught.message.replace(/^error: /, ''))
      : toKnownError(caught, signal);
    const { code, message, advice, requestId, recovery } = error;
    // Commander has printed its own.
    if (!isOfCommander) terminal.note(`${terminal.noteColors.red(code)}: ${message}\n${advice}`);
    if (code === 'internal_error') terminal.note(framesOf(error));
    if (argv.includes('--json'))
      terminal.print(JSON.stringify({ error: { code, message, advice, request_id: requestId ?? null } }));
    return EXIT_CODE_OF[recovery];
  }
}
