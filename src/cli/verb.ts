/**
 * The declaration of a verb, its context, and the frame around a verb that uses the warehouse. docs/cli.md is generated
 * from the declarations.
 */
import { Command } from 'commander';
import { type Account, type App, createApp } from '../app.ts';
import { type Config, loadConfig } from '../config/load-config.ts';
import type { Environment } from '../config/read-variables.ts';
import { SafetySyncError, usageError } from '../shared/errors.ts';
import { nameSome } from '../shared/format.ts';
import { SECOND_MS, sleep, untilAborted } from '../shared/time.ts';
import { assertMigrated } from '../engine/database/migration-status.ts';
import { settleProtection } from '../engine/sync/forget.ts';
import { buildRunEvents } from '../operate/worker/run-log.ts';
import { startTracing } from '../operate/worker/open-telemetry.ts';
import { EXIT } from './run-results.ts';
import type { Terminal } from './terminal.ts';

export interface CommandContext {
  readonly env: Environment;
  readonly terminal: Terminal;
  /** Aborted at the first SIGINT or SIGTERM. */
  readonly signal: AbortSignal;
}

/** The context of a verb that uses the warehouse. */
export interface AppContext extends CommandContext {
  readonly app: App;
}

/** `Own`: its options beside those that most verbs have. */
export interface Verb<Own = object> {
  readonly about: string;
  /** Its arguments, as in `<id>`, `[id]`, `[id...]`. */
  readonly takes?: readonly (readonly [argument: string, about: string])[];
  readonly options?: readonly Option[];
  readonly common?: readonly (keyof typeof COMMON)[];
  /** By their names: verbs behind its own, as in `labels import`. */
  readonly verbs?: Readonly<Record<string, Verb>>;
  /** Refuses options and arguments before anything else, and replaces those that have a meaning of their own. */
  needs?(options: CommonOptions & Own, names: readonly string[]): Needs;
  /** With the warehouse. Neither this nor `runAlone`: it needs one of its verbs. */
  run?(context: AppContext, options: CommonOptions & Own, names: readonly string[]): Result;
  /** Without it. */
  runAlone?(context: CommandContext, options: CommonOptions & Own): Result;
}

/** `parse` throws `usage_invalid`; default: the text. */
type Option = readonly [
  flags: string,
  about: string,
  fallback?: string | number | undefined,
  parse?: (text: string, flag: string) => unknown,
];

/** The output that is printed, or the exit code of a verb that has printed all by itself; default: 0. */
type Result = Promise<Output | number> | Promise<void>;

interface Output {
  /** With --json. */
  readonly json: unknown;
  /** Without. */
  readonly lines: readonly string[];
  /** Default: 0. */
  readonly code?: number;
}

/** Options that most verbs have. */
export interface CommonOptions {
  /** Of verbs that store. */
  readonly liftPrivacy?: true;
  /** Without names: all accounts. */
  readonly account?: readonly string[];
  readonly json?: true | undefined;
  readonly yes?: true;
}

/** Options that several verbs have. */
const COMMON = {
  json: ['--json', 'as JSON on stdout'],
  accounts: ['--account <name>', 'only this account; can be given several times (default: all)'],
  /** For a verb about one account: `onlyAccountOf`. */
  account: ['--account <name>', 'the account; needed if several are configured'],
  liftPrivacy: ['--lift-privacy', 'accept and record settings that protect less than the recorded ones'],
  yes: ['--yes', 'do it without a question; needed off a terminal'],
} as const satisfies Readonly<Record<string, Option>>;

const collect = (value: string, before: readonly string[] = []): readonly string[] => [...before, value];

/** Called with the arguments and options in `command`. */
export type Run = (verb: Verb, command: Command) => Promise<void>;

/** `name`: with the verbs before it, as in `labels import`. */
export function toCommand(name: string, verb: Verb, run: Run): Command {
  const command = new Command(name.split(' ').at(-1))
    .description(verb.about)
    .exitOverride()
    // Arguments after the name of a verb belong to that verb, also if the verb before it has an option with that name.
    .enablePositionalOptions()
    .showHelpAfterError(`(see safety-sync ${name} --help)`)
    // `runVerb` names a misspelt verb behind it.
    .allowExcessArguments(verb.verbs !== undefined);
  for (const [own, one] of Object.entries(verb.verbs ?? {}))
    command.addCommand(toCommand(`${name} ${own}`, one, run));
  for (const [taken, about] of verb.takes ?? []) command.argument(taken, about);
  const common = (verb.common ?? []).map((one): Option => COMMON[one]);
  for (const [flags, about, fallback, parse] of [...(verb.options ?? []), ...common]) {
    const [flag = ''] = flags.split(' ');
    if (flags === '--account <name>') command.option(flags, about, collect);
    else if (parse === undefined) command.option(flags, about, fallback as string | undefined);
    else command.option(flags, about, (text: string) => parse(text, flag), fallback);
  }
  if (verb.run !== undefined || verb.runAlone !== undefined) command.action(() => run(verb, command));
  return command;
}

interface Needs extends CommonOptions {
  /** Base URL and token are required; default: they are not. */
  readonly needsService?: boolean;
  /**
   * true: the verb migrates the warehouse. Default: it needs a migrated one. `by_itself`: it starts in any
   * state of the warehouse.
   */
  readonly migrates?: boolean | 'by_itself';
  /** It stores what the service sends: its settings must protect as much as the recorded ones. */
  readonly stores?: boolean;
}

export function configOf(
  { env, terminal }: CommandContext,
  { needsService = false, account: accounts = [] }: Needs,
): Config {
  return loadConfig(env, { needsService, isTerminal: terminal.isInteractive, accounts });
}

/** Work that does not end within this time after a signal is abandoned, so that a stop takes less than ten seconds. */
const GIVE_UP_MS = 7 * SECOND_MS;

async function giveUp(signal: AbortSignal): Promise<never> {
  await untilAborted(signal);
  await sleep(GIVE_UP_MS);
  throw new SafetySyncError('interrupted', 'stopped by a signal; not everything ended in time');
}

async function prepare(app: App, needs: Needs): Promise<void> {
  const { migrates = false, stores, liftPrivacy } = needs;
  if (migrates === 'by_itself') return;
  // Errors: `privacy_less`.
  const mayStore = async (): Promise<void> => {
    const contexts = app.accounts.map((account) => account.runContext(buildRunEvents(account)));
    if (stores === true) await settleProtection(contexts, liftPrivacy === true);
  };
  if (migrates || app.isEmbedded) {
    const { applied } = await app.migrate({ mayStore });
    if (applied > 0) app.log.info({ applied }, 'the warehouse was migrated');
  } else {
    await assertMigrated(app.connection);
    await mayStore();
  }
}

/** Runs the verb, prints its output, and returns the exit code. A signal ends a verb that uses the warehouse within seconds. */
export async function runVerb(verb: Verb, context: CommandContext, command: Command): Promise<number> {
  const options: CommonOptions = command.opts();
  const names = command.args;
  if (verb.verbs !== undefined && names.length > 0) {
    const behind = Object.keys(verb.verbs).join(', ');
    throw usageError(`unknown command '${command.name()} ${names[0] ?? ''}'; there are ${behind}`);
  }
  const { terminal, signal, env } = context;
  const print = (result: Awaited<Result>): number => {
    if (typeof result !== 'object') return typeof result === 'number' ? result : EXIT.ok;
    terminal.print(options.json ? JSON.stringify(result.json) : result.lines.join('\n'));
    return result.code ?? EXIT.ok;
  };
  if (verb.runAlone !== undefined) return print(await verb.runAlone(context, options));
  const needs = { ...options, ...verb.needs?.(options, names) };
  const config = configOf(context, needs);
  const stopTracing = await startTracing(env);
  const say = (line: string): void => terminal.note(terminal.noteColors.dim(line));
  const app = await createApp({ config, signal, say });
  if (needs.needsService) {
    for (const warning of Object.values(config.warnings)) if (warning !== null) app.log.warn(warning);
  }
  const work = async () => {
    await prepare(app, needs);
    return await verb.run?.({ ...context, app }, options, names);
  };
  try {
    return print(await Promise.race([work(), giveUp(signal)]));
  } finally {
    // Together, because each waits for seconds when its server does not respond.
    await Promise.all([app.close(), stopTracing()]);
  }
}

const NAMED_ACCOUNTS = 10;

/** For verbs about one account; throws `usage_invalid` if several are configured and none was selected. */
export function onlyAccountOf({ accounts, accountIds }: App, what: string): Account {
  const [account] = accounts;
  if (account !== undefined && accounts.length === 1) return account;
  throw usageError(
    `${what} is of one account, there are ${accounts.length}: choose one with --account (${nameSome(accountIds, NAMED_ACCOUNTS)})`,
  );
}
