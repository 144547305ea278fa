import {
  createSandbox,
  defaultSize,
  type RequestLogEntry,
  type Sandbox,
  type SandboxOptions,
} from '../../sandbox/index.ts';
import { SafetySyncError, usageError } from '../../shared/errors.ts';
import { untilAborted } from '../../shared/time.ts';
import { parseWholeNumber } from '../arguments.ts';
import { EXIT } from '../run-results.ts';
import type { Colors } from '../terminal.ts';
import type { CommandContext, Verb } from '../verb.ts';

type SandboxFaults = NonNullable<SandboxOptions['faults']>;
type SizeName = keyof typeof defaultSize;
const SIZE_NAMES = Object.keys(defaultSize) as SizeName[];

interface Flags extends Readonly<Record<SizeName, string>> {
  readonly port: string;
  readonly host: string;
  readonly token?: string;
  readonly seed?: string;
  readonly latency: string;
  readonly live: string;
  readonly deletions?: true;
  readonly faults: string;
  readonly rateLimit?: string;
  readonly quiet?: true;
}

const MILLION = 1_000_000;
/** Kinds that `--faults` shares out evenly. A hang only ends with the worker's time-out, so it gets a tenth of a share. */
const FAULT_KINDS = ['rateLimit', 'serverError', 'reset', 'cut', 'nonJson', 'slow'] as const;

/** `80/60` = 80 requests in 60 seconds. */
function toLimiter(text: string | undefined): SandboxFaults {
  if (text === undefined) return {};
  const [, requests, seconds] = /^([1-9]\d{0,6})\/([1-9]\d{0,4})$/.exec(text) ?? [];
  if (seconds === undefined)
    throw usageError(`--rate-limit: expected requests/seconds such as 80/60, got ${text}`);
  return { limiter: { requests: Number(requests), windowMs: Number(seconds) * 1000 } };
}

function toOptions(flags: Flags): SandboxOptions {
  const number = (name: SizeName | 'port' | 'seed' | 'latency' | 'live' | 'faults', max: number) =>
    parseWholeNumber(flags[name] ?? '', `--${name}`, { min: 0, max });
  const share = number('faults', 90) / 100 / (FAULT_KINDS.length + 0.1);
  return {
    host: flags.host,
    port: number('port', 65_535),
    token: flags.token,
    seed: flags.seed === undefined ? undefined : number('seed', 2 ** 31),
    size: Object.fromEntries(SIZE_NAMES.map((name) => [name, number(name, 5 * MILLION)])),
    latencyMs: number('latency', 600_000),
    live: { changesPerMinute: number('live', MILLION), deletions: flags.deletions ?? false },
    faults: {
      ...Object.fromEntries(FAULT_KINDS.map((kind) => [kind, share])),
      hang: share / 10,
      ...toLimiter(flags.rateLimit),
    },
  };
}

function renderRequest(entry: RequestLogEntry, colors: Colors): string {
  const time = new Date(entry.at).toISOString().slice(11, 23);
  const outcome = entry.outcome === 'ok' ? colors.green('ok') : colors.red(entry.outcome);
  const fault = entry.fault === null ? '' : colors.yellow(` fault:${entry.fault}`);
  return `${colors.dim(time)} ${entry.httpMethod} ${entry.method} ${JSON.stringify(entry.params)} ${outcome}${fault} ${colors.dim(entry.requestId ?? '')}`;
}

/** Throws an error for an address that cannot be used; all flags are valid here. */
async function startSandbox(options: SandboxOptions): Promise<Sandbox> {
  try {
    return await createSandbox(options);
  } catch (error) {
    if (!(error instanceof Error && 'syscall' in error)) throw error;
    throw new SafetySyncError(
      'usage_invalid',
      `the sandbox cannot listen there: ${error.message}; choose another --port or --host`,
      { cause: error },
    );
  }
}

async function runSandbox({ terminal, signal }: CommandContext, flags: Flags): Promise<number> {
  const options = toOptions(flags);
  const sandbox = await startSandbox({
    ...options,
    onRequest: (entry) => {
      if (!flags.quiet) terminal.note(renderRequest(entry, terminal.noteColors));
    },
  });
  if (flags.live !== '0') sandbox.live.start();
  const settings = [
    ['SAFETY_BASE_URL', sandbox.url],
    ['SAFETY_TOKEN', sandbox.token],
    ['SAFETY_EQUIPMENT_TYPES', sandbox.equipmentTypes.join(',')],
  ] as const;
  for (const [name, value] of settings) terminal.print(`${name}=${value}`);
  const log = flags.quiet ? '' : '; its requests follow';
  const { dim } = terminal.noteColors;
  terminal.note(dim('To use it, in another shell:'));
  for (const [name, value] of settings) terminal.note(`export ${name}=${value}`);
  terminal.note(
    dim(`The sandbox serves until Ctrl-C${log}. Each start makes its data anew, with the dates of that day.`),
  );
  await untilAborted(signal);
  sandbox.live.stop();
  await sandbox.close();
  return EXIT.ok;
}

export const sandbox: Verb<Flags> = {
  name: 'sandbox',
  about: 'serve the complete Data-Access Service over generated data; print the environment to use it',
  options: [
    ['--port <port>', 'port; 0: any that is free', '8090'],
    ['--host <host>', 'address to listen on', '127.0.0.1'],
    ['--token <token>', 'the token it accepts (default: sandbox-token)'],
    ['--seed <n>', 'other data; the same seed gives the same data'],
    ['--followups <n>', 'how many follow-ups', String(defaultSize.followups)],
    ['--employees <n>', 'how many employees', String(defaultSize.employees)],
    ['--equipment <n>', 'how many pieces of equipment, over four types', String(defaultSize.equipment)],
    ['--resources <n>', 'how many resources', String(defaultSize.resources)],
    ['--users <n>', 'how many users act at the service', String(defaultSize.users)],
    ['--live <n>', 'changes a minute; 0: the source does not change', '0'],
    ['--deletions', 'with --live: records are deleted, too'],
    ['--latency <ms>', 'added to every response', '0'],
    ['--faults <percent>', 'share of requests that go wrong, over all kinds of faults', '0'],
    [
      '--rate-limit <n/seconds>',
      'more than n requests in so many seconds lock everybody out for as long, e.g. 80/60',
    ],
    ['--quiet', 'no request log'],
  ],
  run: runSandbox,
};
