/** What every verb is given, and the frame around one that uses the warehouse. */
import { type App, buildLogger, createApp } from '../app.ts';
import { type Config, loadConfig } from '../config/load-config.ts';
import type { Environment } from '../config/read-variables.ts';
import { startTracing } from '../worker/open-telemetry.ts';
import { VERSION } from '../version.ts';
import { SafetySyncError } from '../shared/errors.ts';
import type { Logger } from '../shared/logger.ts';
import { STREAM_NAMES } from '../streams/index.ts';
import type { StreamName } from '../streams/stream.ts';
import { closestName } from './closest-name.ts';
import type { Terminal } from './terminal.ts';

export interface CommandContext {
  readonly env: Environment;
  readonly terminal: Terminal;
  /** Aborted at the first SIGINT or SIGTERM. */
  readonly signal: AbortSignal;
}

export interface WithAppOptions {
  readonly needsService: boolean;
  /** Whether the verb brings the warehouse up to date, only reads one that is, or takes it as it finds it at first. */
  readonly migrates: boolean | 'by_itself';
  /** Names of `--account`; none: all accounts. */
  readonly accounts?: readonly string[] | undefined;
  /** Told the configuration before anything is opened. */
  readonly begin?: (config: Config, log: Logger) => void;
}

/** Loads the configuration, opens the warehouse, runs the verb, closes everything. */
export async function withApp<T>(
  context: CommandContext,
  options: WithAppOptions,
  work: (app: App) => Promise<T>,
): Promise<T> {
  const { terminal, signal } = context;
  const config = loadConfig(context.env, {
    needsService: options.needsService,
    isTerminal: terminal.isInteractive,
    accounts: options.accounts ?? [],
  });
  options.begin?.(config, buildLogger(config));
  const stopTracing = await startTracing(context.env, VERSION);
  const app = await createApp({
    config,
    signal,
    say: (line) => terminal.note(terminal.noteColors.dim(line)),
  });
  try {
    if (options.migrates === 'by_itself') return await work(app);
    if (options.migrates || app.warehouse.isEmbedded) {
      const { applied } = await (options.migrates ? app.migrate() : app.warehouse.migrate());
      if (applied > 0) app.log.info({ applied }, 'the warehouse was migrated');
    } else {
      await app.warehouse.assertMigrated();
    }
    return await work(app);
  } finally {
    await app.close();
    await stopTracing();
  }
}

/** The log is read by the person who waits for the answer. */
export function isAtTerminal({ terminal }: CommandContext, { config }: App): boolean {
  return terminal.isInteractive && config.log.format === 'pretty';
}

/** All streams when none is named. Throws `usage_invalid` for a name that is none. */
export function parseStreams(names: readonly string[]): StreamName[] {
  const unknown = names.filter((name) => !STREAM_NAMES.includes(name));
  if (unknown.length > 0) {
    const meant = unknown.flatMap((name) => closestName(name, STREAM_NAMES) ?? []);
    const guess = meant.length === 0 ? '' : `, did you mean ${meant.join(', ')}?`;
    throw new SafetySyncError(
      'usage_invalid',
      `no stream is named ${unknown.join(', ')}${guess === '' ? ';' : guess} the streams are ${STREAM_NAMES.join(', ')}`,
    );
  }
  return names.length === 0 ? [...STREAM_NAMES] : STREAM_NAMES.filter((name) => names.includes(name));
}

export function parseWholeNumber(
  text: string,
  name: string,
  { min, max }: { min: number; max: number },
): number {
  const value = Number(text);
  if (!/^\d+$/.test(text) || value < min || value > max) {
    throw new SafetySyncError(
      'usage_invalid',
      `${name}: expected a whole number from ${min} to ${max}, got ${text}`,
    );
  }
  return value;
}
