/** The other processes of a measurement: the service and the worker, as their users start them, and the peer. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { realpathSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { equipmentTypes } from '../../src/sandbox/generate/equipment-types.ts';
import type { defaultSize } from '../../src/sandbox/index.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
export const PROGRAM = join(ROOT, 'dist/main.js');
/** Below node_modules, where Node finds the packages that are not bundled. */
const COMPILED = join(realpathSync(join(ROOT, 'node_modules')), '.cache/safety-sync-bench');
const SETTINGS = ['SAFETY_BASE_URL', 'SAFETY_TOKEN'] as const;
/** The sandbox's. */
const SAFETY_EQUIPMENT_TYPES = equipmentTypes.map(({ id }) => id).join(',');

export type ServiceSize = Partial<typeof defaultSize>;

export interface Service {
  /** Environment variables for the requests of a worker to it. */
  readonly env: Readonly<Record<string, string>>;
  readonly pid: number;
  close(): Promise<void>;
}

interface ServiceOptions {
  readonly size: ServiceSize;
  readonly latencyMs?: number;
  readonly changesPerMinute?: number;
}

export async function startService({
  size,
  latencyMs = 0,
  changesPerMinute = 0,
}: ServiceOptions): Promise<Service> {
  const sizes = { followups: 0, employees: 0, equipment: 0, resources: 0, users: 50, ...size };
  const options = { port: 0, latency: latencyMs, live: changesPerMinute, ...sizes };
  const flags = Object.entries(options).flatMap(([name, count]) => [`--${name}`, String(count)]);
  const child = spawn(process.execPath, [PROGRAM, 'sandbox', '--quiet', ...flags], {
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const env: Record<string, string> = {};
  for await (const line of createInterface({ input: child.stdout })) {
    const [name = '', value = ''] = line.split(/=(.*)/s);
    env[name] = value;
    if (SETTINGS.every((setting) => setting in env)) break;
  }
  return { env: { ...env, SAFETY_EQUIPMENT_TYPES }, pid: child.pid ?? 0, close: () => end(child) };
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill('SIGKILL');
  await once(child, 'exit');
}

/** One run of one stream, as `--json` reports it. */
interface RunFigures {
  readonly stream: string;
  readonly records_read: number;
  readonly requests: number;
  readonly duration_ms: number;
}

export interface Work {
  readonly runs: readonly RunFigures[];
  /** From the start of the process to its end. */
  readonly seconds: number;
  /** The duration of the runs, without the start of the process. */
  readonly runSeconds: number;
  /** User and system, of the process. */
  readonly cpuSeconds: number;
  readonly peakMemoryBytes: number;
  /** Bodies of the service's responses. */
  readonly bytes: number;
}

/** A file of bench/support as JavaScript, so that no loader counts as the process's time or memory. */
async function compile(name: string): Promise<string> {
  const outfile = join(COMPILED, `${name}.mjs`);
  const entryPoints = [join(ROOT, `bench/support/${name}.ts`)];
  await build({ entryPoints, outfile, bundle: true, packages: 'external', platform: 'node', format: 'esm' });
  return outfile;
}

/** Runs a verb of the built program to its end. Throws when it fails. */
export async function runWorker(
  args: readonly string[],
  env: Readonly<Record<string, string>>,
): Promise<Work> {
  return await runProcess([PROGRAM, ...args, '--json'], env);
}

/** Loads a stream with DuckDB. */
export async function runPeer(stream: string, env: Readonly<Record<string, string>>): Promise<Work> {
  return await runProcess([await compile('duckdb'), stream], env);
}

async function runProcess(args: readonly string[], env: Readonly<Record<string, string>>): Promise<Work> {
  const hook = await compile('usage-hook');
  const folder = await mkdtemp(join(tmpdir(), 'safety-sync-bench-'));
  const usageFile = join(folder, 'usage.json');
  try {
    const startedMs = performance.now();
    const child = spawn(process.execPath, ['--import', hook, ...args], {
      cwd: folder,
      env: { PATH: process.env['PATH'], USAGE_FILE: usageFile, LOG_LEVEL: 'error', ...env },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const chunks: Buffer[] = [];
    child.stdout.on('data', (chunk: Buffer) => chunks.push(chunk));
    const [code] = (await once(child, 'close')) as [number | null];
    const seconds = (performance.now() - startedMs) / 1000;
    const printed = Buffer.concat(chunks).toString();
    if (code !== 0) throw new Error(`${args.join(' ')} ended with ${String(code)}: ${printed}`);
    const usage = JSON.parse(await readFile(usageFile, 'utf8')) as Pick<
      Work,
      'cpuSeconds' | 'peakMemoryBytes' | 'bytes'
    >;
    const { runs } = JSON.parse(printed) as Pick<Work, 'runs'>;
    const runSeconds = runs.reduce((sum, run) => sum + run.duration_ms, 0) / 1000;
    return { runs, seconds, runSeconds, ...usage };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
