import { AsyncLocalStorage } from 'node:async_hooks';
import pc from 'picocolors';
import { runProgram } from '../../src/cli/program.ts';
import { toPrintable } from '../../src/cli/terminal.ts';
import type { Environment } from '../../src/config/read-variables.ts';
import { type RunningCli, watchProgram } from './cli.ts';

interface InProcessOptions {
  /** As at a terminal: answers may have colours and so on. */
  readonly isInteractive?: boolean;
  /** What the person at the terminal types when asked; undefined: nobody is there. */
  readonly answer?: string;
  /** Characters in a line of the terminal; undefined: stdout is piped. */
  readonly width?: number;
  /** Stopped before it begins: what serves until it is stopped ends at once. */
  readonly isStopped?: boolean;
}

export interface Said {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

type Print = (stream: 'stdout' | 'stderr', text: string) => void;

/** Who is told what the program writes past its terminal: the log, and what Commander says. */
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
  const { signal, print, isInteractive = false, answer, width } = options;
  const terminal = {
    print: (text: string) => print('stdout', `${toPrintable(text)}\n`),
    printFile: (text: string) => print('stdout', `${text}\n`),
    note: (text: string) => print('stderr', `${toPrintable(text)}\n`),
    colors: pc.createColors(false),
    noteColors: pc.createColors(false),
    isInteractive,
    ask: answer === undefined ? undefined : () => Promise.resolve(answer),
    width,
  };
  return listening.run(print, () => runProgram(args, { env, signal, terminal }));
}

/** The command line inside of the test, to its end. The log is silent unless it is asked for. */
export async function runInProcess(
  args: readonly string[],
  env: Environment,
  options: InProcessOptions = {},
): Promise<Said> {
  const said = { stdout: '', stderr: '' };
  const code = await call(
    args,
    { LOG_LEVEL: 'silent', ...env },
    {
      ...options,
      signal: options.isStopped === true ? AbortSignal.abort() : new AbortController().signal,
      print: (stream, text) => void (said[stream] += text),
    },
  );
  return { code, ...said };
}

/** The command line inside of the test, while it runs; the first signal stops it as it does a process, a second one does nothing. */
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
