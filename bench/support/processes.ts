/** The two other processes of a measurement: the service and the worker, both as their users start them. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const PROGRAM = join(ROOT, 'dist/main.js');
const USAGE_HOOK = join(ROOT, 'bench/support/usage-hook.ts');
const SETTINGS = ['SAFETY_BASE_URL', 'SAFETY_TOKEN', 'SAFETY_EQUIPMENT_TYPES'] as const;

export interface ServiceSize {
  readonly followups?: number;
  readonly employees?: number;
  readonly equipment?: number;
  readonly resources?: number;
  readonly users?: number;
}

export interface Service {
  /** What the worker needs to ask it. */
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
  const flags = Object.entries(sizes).flatMap(([name, count]) => [`--${name}`, String(count)]);
  const child = spawn(
    process.execPath,
    [
      PROGRAM,
      'sandbox',
      '--port',
      '0',
      '--quiet',
      '--latency',
      String(latencyMs),
      '--live',
      String(changesPerMinute),
      ...flags,
    ],
    { stdio: ['ignore', 'pipe', 'ignore'] },
  );
  const env: Record<string, string> = {};
  for await (const line of createInterface({ input: child.stdout })) {
    const [name = '', value = ''] = line.split(/=(.*)/s);
    env[name] = value;
    if (SETTINGS.every((setting) => setting in env)) break;
  }
  return { env, pid: child.pid ?? 0, close: () => end(child) };
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill('SIGKILL');
  await once(child, 'exit');
}

/** One run of one stream, as `--json` tells it. */
interface RunFigures {
  readonly stream: string;
  readonly records_read: number;
  readonly requests: number;
  readonly duration_ms: number;
}

export interface Work {
  readonly runs: readonly RunFigures[];
  /** Of the runs, without the start of the process. */
  readonly seconds: number;
  /** From the start of the process to its end. */
  readonly wallSeconds: number;
  /** Of the worker's process. */
  readonly cpuSeconds: number;
  readonly peakMemoryBytes: number;
  /** Bodies of the service's responses. */
  readonly bytes: number;
}

/** The worker is plain Node: the hook is made JavaScript first, so that no loader counts as the worker's memory. */
async function compileHook(folder: string): Promise<string> {
  const compilerOptions = { module: ts.ModuleKind.ESNext, target: ts.ScriptTarget.ES2022 };
  const { outputText } = ts.transpileModule(await readFile(USAGE_HOOK, 'utf8'), { compilerOptions });
  const file = join(folder, 'usage-hook.mjs');
  await writeFile(file, outputText);
  return file;
}

/** Runs a verb of the built program to its end. Throws when it fails. */
export async function runWorker(
  args: readonly string[],
  env: Readonly<Record<string, string>>,
): Promise<Work> {
  const folder = await mkdtemp(join(tmpdir(), 'safety-sync-bench-'));
  const usageFile = join(folder, 'usage.json');
  try {
    const startedMs = performance.now();
    const child = spawn(
      process.execPath,
      ['--import', await compileHook(folder), PROGRAM, ...args, '--json'],
      {
        cwd: folder,
        env: { PATH: process.env['PATH'], USAGE_FILE: usageFile, LOG_LEVEL: 'error', ...env },
        stdio: ['ignore', 'pipe', 'inherit'],
      },
    );
    const chunks: Buffer[] = [];
    child.stdout.on('data', (chunk: Buffer) => chunks.push(chunk));
    const [code] = (await once(child, 'close')) as [number | null];
    const wallSeconds = (performance.now() - startedMs) / 1000;
    const told = Buffer.concat(chunks).toString();
    if (code !== 0) throw new Error(`safety-sync ${args.join(' ')} ended with ${String(code)}: ${told}`);
    const usage = JSON.parse(await readFile(usageFile, 'utf8')) as Omit<
      Work,
      'runs' | 'seconds' | 'wallSeconds'
    >;
    const { runs } = JSON.parse(told) as Pick<Work, 'runs'>;
    const seconds = runs.reduce((sum, run) => sum + run.duration_ms, 0) / 1000;
    return { runs, seconds, wallSeconds, ...usage };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
