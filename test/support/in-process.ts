import { AsyncLocalStorage } from 'node:async_hooks';
import pc from 'picocolors';
import { runProgram } from '../../src/cli/program.ts';
import { toPrintable } from '../../src/cli/terminal.ts';
import type { Environment } from '../../src/config/read-variables.ts';
import { type RunningCli, watchProgram } from './cli.ts';

interface InProcessOptions {
  /** Input at the terminal; undefined: none. */
  readonly answer?: string;
}

export interface Said {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

type Print = (stream: 'stdout' | 'stderr', text: string) => void;

/** Captures output that bypasses the terminal: the log, and messages of Commander. */
const listening = new AsyncLocalStorage<Print>();

for (const stream of ['stdout', 'stderr'] as const) {
  const write = process[stream].write.bind(process[stream]);
  process[stream].write = (chunk: string | Uint8Array, ...rest: []) => {
    const print = listening.getStore();
    if (print === undefined) return write(chunk, ...rest);
    print(stream, typeof chunk === 'string' ? chunk : Buffer.from(chunk).toString());
    return true;
  };
}

interface Call extends InProcessOptions {
  readonly signal: AbortSignal;
  readonly print: Print;
}

function call(args: readonly string[], env: Environment, options: Call): Promise<number> {
  const { signal, print, answer } = options;
  const terminal = {
    print: (text: string) => print('stdout', `${toPrintable(text)}\n`),
    printFile: (text: string) => print('stdout', `${text}\n`),
    note: (text: string) => print('stderr', `${toPrintable(text)}\n`),
    colors: pc.createColors(false),
    noteColors: pc.createColors(false),
    isInteractive: false,
    ask: answer === undefined ? undefined : () => Promise.resolve(answer),
    width: undefined,
  };
  return listening.run(print, () => runProgram(args, { env, signal, terminal }));
}

/** Runs the command line inside the test process to its end. The log is off by default. */
export async function runInProcess(
  args: readonly string[],
  env: Environment,
  options: InProcessOptions = {},
): Promise<Said> {
  const output = { stdout: '', stderr: '' };
  const code = await call(
    args,
    { LOG_LEVEL: 'silent', ...env },
    {
      ...options,
      signal: new AbortController().signal,
      print: (stream, text) => void (output[stream] += text),
    },
  );
  return { code, ...output };
}

/** Starts the command line inside the test process; the first signal stops it as in a process, a second one has no effect. */
export function startInProcess(args: readonly string[], env: Environment): RunningCli {
  const stopping = new AbortController();
  return watchProgram(args, {
    pid: process.pid,
    kill: (signal) => stopping.abort(new Error(signal)),
    watch: async (print) => ({
      code: await call(args, env, { signal: stopping.signal, print }),
      signal: null,
    }),
  });
}
