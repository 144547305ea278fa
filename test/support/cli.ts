import { type ChildProcess, spawn } from 'node:child_process';
import { EventEmitter, once } from 'node:events';
import { rm } from 'node:fs/promises';
import { ignoreRejection } from '../../src/shared/errors.ts';
import { withTimeout } from '../../src/shared/time.ts';
import { BINARY } from './built-cli.ts';
import { makeTestFolder } from './test-folder.ts';

export interface Finished {
  /** null: ended by a signal. */
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface RunningCli {
  readonly pid: number;
  /** All output up to now. */
  readonly stdout: string;
  readonly stderr: string;
  /** Resolves as soon as the output matches; rejects when the program ends, or at the deadline. */
  untilStdout(pattern: RegExp): Promise<RegExpExecArray>;
  untilStderr(pattern: RegExp): Promise<RegExpExecArray>;
  kill(signal: NodeJS.Signals): void;
  readonly finished: Promise<Finished>;
}

export type CliEnvironment = Readonly<Record<string, string | undefined>>;

/** Runs the built program as processes, with an empty home, a separate working directory and no inherited settings. */
export interface Cli {
  readonly directory: string;
  start(args: readonly string[], env?: CliEnvironment): RunningCli;
  /** Runs a command to its end. */
  run(args: readonly string[], env?: CliEnvironment): Promise<Finished>;
  /** Kills the remaining processes. */
  close(): Promise<void>;
}

const DEADLINE_MS = 60_000;

export async function createCli(): Promise<Cli> {
  const directory = await makeTestFolder('safety-sync-e2e-');
  const running = new Set<ChildProcess>();
  const start = (args: readonly string[], env: CliEnvironment = {}): RunningCli => {
    const child = spawn(process.execPath, [BINARY, ...args], {
      cwd: directory,
      env: { PATH: process.env['PATH'], HOME: directory, LANG: 'C.UTF-8', ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    running.add(child);
    child.once('close', () => running.delete(child));
    return watchProgram(args, {
      pid: child.pid ?? -1,
      kill: (signal) => void child.kill(signal),
      watch: (print) => {
        for (const stream of ['stdout', 'stderr'] as const)
          child[stream].setEncoding('utf8').on('data', (text: string) => print(stream, text));
        return new Promise((resolve, reject) => {
          child.once('error', reject);
          child.once('close', (code, signal) => resolve({ code, signal }));
        });
      },
    });
  };
  return {
    directory,
    start,
    run: (args, env) => start(args, env).finished,
    async close() {
      await Promise.all(
        [...running].map((child) => {
          child.kill('SIGKILL');
          return once(child, 'close');
        }),
      );
      await rm(directory, { recursive: true, force: true });
    },
  };
}

interface WatchedProgram {
  readonly pid: number;
  readonly kill: (signal: NodeJS.Signals) => void;
  /** Passes the output to `print`; resolves when the program has ended. */
  readonly watch: (
    print: (stream: 'stdout' | 'stderr', text: string) => void,
  ) => Promise<Pick<Finished, 'code' | 'signal'>>;
}

/** The output of a running program, for tests that wait for a text. */
export function watchProgram(args: readonly string[], { pid, kill, watch }: WatchedProgram): RunningCli {
  const output = { stdout: '', stderr: '' };
  let hasEnded = false;
  const program = new EventEmitter();
  const name = `safety-sync ${args.join(' ')}`;
  const describe = () => `${name}\nstdout: ${output.stdout}\nstderr: ${output.stderr}`;
  const closed = watch((stream, text) => {
    output[stream] += text;
    program.emit('change');
  }).then((end): Finished => {
    hasEnded = true;
    program.emit('change');
    return { ...end, ...output };
  });
  void ignoreRejection(closed);

  /** A hanging program fails its test with its output, not with a bare timeout. */
  async function withDeadline<T>(work: Promise<T>, what: string): Promise<T> {
    const ended = await withTimeout(work, DEADLINE_MS);
    if (!ended.inTime) throw new Error(`${what} did not happen in time: ${describe()}`);
    return ended.value;
  }

  async function find(stream: 'stdout' | 'stderr', pattern: RegExp): Promise<RegExpExecArray> {
    for (;;) {
      const match = pattern.exec(output[stream]);
      if (match !== null) return match;
      if (hasEnded) throw new Error(`ended without ${String(pattern)} on ${stream}: ${describe()}`);
      await once(program, 'change');
    }
  }
  const until = (stream: 'stdout' | 'stderr', pattern: RegExp) =>
    withDeadline(find(stream, pattern), `${String(pattern)} on ${stream}`);

  let finished: Promise<Finished> | undefined;
  return {
    pid,
    get stdout() {
      return output.stdout;
    },
    get stderr() {
      return output.stderr;
    },
    untilStdout: (pattern) => until('stdout', pattern),
    untilStderr: (pattern) => until('stderr', pattern),
    kill,
    // The deadline begins with the first wait for the end.
    get finished() {
      return (finished ??= withDeadline(closed, 'the end'));
    },
  };
}

/** Parses every line of a JSON log. */
export function parseLog(stderr: string): Record<string, unknown>[] {
  return stderr
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line) as Record<string, unknown>);
}
