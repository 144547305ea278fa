import {
  createSandbox,
  defaultSize,
  type RequestLogEntry,
  type SandboxOptions,
} from '../../sandbox/index.ts';
import { usageError } from '../../shared/errors.ts';
import { untilAborted } from '../../shared/time.ts';
import { parseWholeNumber } from '../arguments.ts';
import { EXIT } from '../run-results.ts';
import type { Colors } from '../terminal.ts';
import type { CommandContext, Verb } from '../verb.ts';

type Flags = Readonly<Record<string, string | true | undefined>>;

const MILLION = 1_000_000;
/** Kinds that `--faults` shares out evenly. A hang only ends with the worker's time-out, so it gets a tenth of a share. */
const FAULT_KINDS = ['rateLimit', 'serverError', 'reset', 'cut', 'nonJson', 'slow'] as const;

function toOptions(flags: Flags): SandboxOptions {
  const textOf = (name: string): string | undefined => flags[name] as string | undefined;
  const number = (name: string, max: number) =>
    parseWholeNumber(textOf(name) ?? '', `--${name}`, { min: 0, max });
  const share = number('faults', 90) / 100 / (FAULT_KINDS.length + 0.1);
  return {
    host: String(flags['host']),
    port: number('port', 65_535),
    token: textOf('token'),
    seed: flags['seed'] === undefined ? undefined : number('seed', 2 ** 31),
    size: Object.fromEntries(Object.keys(defaultSize).map((name) => [name, number(name, 5 * MILLION)])),
    latencyMs: number('latency', 600_000),
    live: { changesPerMinute: number('live', MILLION), deletions: flags['deletions'] === true },
    faults: { ...Object.fromEntries(FAULT_KINDS.map((kind) => [kind, share])), hang: share / 10 },
  };
}

function renderRequest(entry: RequestLogEntry, colors: Colors): string {
  const time = new Date(entry.at).toISOString().slice(11, 23);
  const outcome = entry.outcome === 'ok' ? colors.green('ok') : colors.red(entry.outcome);
  const fault = entry.fault === null ? '' : colors.yellow(` fault:${entry.fault}`);
  return `${colors.dim(time)} ${entry.httpMethod} ${entry.method} ${JSON.stringify(entry.params)} ${outcome}${fault} ${colors.dim(entry.requestId ?? '')}`;
}

async function runSandbox({ terminal, signal }: CommandContext, flags: Flags): Promise<number> {
  const onRequest = (entry: RequestLogEntry): void => {
    if (!flags['quiet']) terminal.note(renderRequest(entry, terminal.noteColors));
  };
  const sandbox = await createSandbox({ ...toOptions(flags), onRequest }).catch((cause: unknown) => {
    // All flags are valid here: the address cannot be used.
    if (!(cause instanceof Error && 'syscall' in cause)) throw cause;
    throw usageError(`the sandbox cannot listen there: ${cause.message}`, 'Choose another --port or --host.');
  });
  if (flags['live'] !== '0') sandbox.live.start();
  terminal.print(`SAFETY_BASE_URL=${sandbox.url}
SAFETY_TOKEN=${sandbox.token}
SAFETY_EQUIPMENT_TYPES=${sandbox.equipmentTypes.join(',')}`);
  terminal.note(
    terminal.noteColors.dim(
      'To use it, export these variables in another shell. It serves until Ctrl-C; each start makes its data anew.',
    ),
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
    ['--quiet', 'no request log'],
  ],
  run: runSandbox,
};
