import { createSandbox, defaultSize, type RequestLogEntry } from '../../sandbox/index.ts';
import { usageError } from '../../shared/errors.ts';
import { untilAborted } from '../../shared/time.ts';
import { wholeNumber } from '../arguments.ts';
import type { Colors } from '../terminal.ts';
import type { CommandContext, Verb } from '../verb.ts';

/** `live`: changes a minute; `latency`: ms; `faults`: percent of the requests. */
type Numbers = Readonly<Record<keyof typeof defaultSize | 'port' | 'live' | 'latency' | 'faults', number>>;
type Words = Readonly<{ host: string; token?: string; seed?: number; deletions?: true; quiet?: true }>;
type Flags = Numbers & Words;

const MILLION = 1_000_000;
const howMany = wholeNumber(0, 5 * MILLION);
/** Kinds that `--faults` shares out evenly. A hang only ends with the worker's time-out, so it gets a tenth of a share. */
const FAULT_KINDS = ['rateLimit', 'serverError', 'reset', 'cut', 'nonJson', 'slow'] as const;

const NEXT_STEPS = `To use it, set these variables in another terminal, and, if you have a PostgreSQL,
  export DATABASE_URL=postgres://…
Without DATABASE_URL an embedded PostgreSQL is used. The sandbox serves until Ctrl-C; each start makes its data anew.`;

function renderRequest(entry: RequestLogEntry, colors: Colors): string {
  const time = new Date(entry.at).toISOString().slice(11, 23);
  const outcome = entry.outcome === 'ok' ? colors.green('ok') : colors.red(entry.outcome);
  const fault = entry.fault === null ? '' : colors.yellow(` fault:${entry.fault}`);
  return `${colors.dim(time)} ${entry.httpMethod} ${entry.method} ${JSON.stringify(entry.params)} ${outcome}${fault} ${colors.dim(entry.requestId ?? '')}`;
}

async function runSandbox({ terminal, signal }: CommandContext, flags: Flags): Promise<undefined> {
  const { host, port, token, seed, latency, live, deletions = false, faults, quiet, ...size } = flags;
  const onRequest = (entry: RequestLogEntry): void => {
    if (!quiet) terminal.note(renderRequest(entry, terminal.noteColors));
  };
  const share = faults / 100 / (FAULT_KINDS.length + 0.1);
  const sandbox = await createSandbox({
    ...{ host, port, token, seed, latencyMs: latency, size, onRequest },
    live: { changesPerMinute: live, deletions },
    faults: { ...Object.fromEntries(FAULT_KINDS.map((kind) => [kind, share])), hang: share / 10 },
  }).catch((cause: unknown) => {
    // All flags are valid here: the address cannot be used.
    if (!(cause instanceof Error && 'syscall' in cause)) throw cause;
    throw usageError(`the sandbox cannot listen there: ${cause.message}`, 'Choose another --port or --host.');
  });
  if (live > 0) sandbox.live.start();
  const required = [`SAFETY_BASE_URL=${sandbox.url}`, `SAFETY_TOKEN=${sandbox.token}`];
  // People paste them into a shell; programs read names and values.
  if (terminal.width !== undefined) terminal.print(required.map((line) => `export ${line}`).join('\n'));
  else terminal.print([...required, `SAFETY_EQUIPMENT_TYPES=${sandbox.equipmentTypes.join(',')}`].join('\n'));
  terminal.note(terminal.noteColors.dim(NEXT_STEPS));
  await untilAborted(signal);
  sandbox.live.stop();
  await sandbox.close();
}

export const sandbox: Verb<Flags> = {
  about: 'serve the complete Data-Access Service over generated data; print the environment to use it',
  options: [
    ['--port <port>', 'port; 0: any that is free', 8090, wholeNumber(0, 65_535)],
    ['--host <host>', 'address to listen on', '127.0.0.1'],
    ['--token <token>', 'the token it accepts (default: sandbox-token)'],
    ['--seed <n>', 'other data; the same seed gives the same data', undefined, wholeNumber(0, 2 ** 31)],
    ['--followups <n>', 'how many follow-ups', defaultSize.followups, howMany],
    ['--employees <n>', 'how many employees', defaultSize.employees, howMany],
    ['--equipment <n>', 'how many pieces of equipment, over four types', defaultSize.equipment, howMany],
    ['--resources <n>', 'how many resources', defaultSize.resources, howMany],
    ['--users <n>', 'how many users act at the service', defaultSize.users, howMany],
    ['--live <n>', 'changes a minute; 0: the source does not change', 0, wholeNumber(0, MILLION)],
    ['--deletions', 'with --live: records are deleted, too'],
    ['--latency <ms>', 'added to every response', 0, wholeNumber(0, 600_000)],
    ['--faults <percent>', 'share of requests that go wrong, in every way', 0, wholeNumber(0, 90)],
    ['--quiet', 'no request log'],
  ],
  runAlone: runSandbox,
};
