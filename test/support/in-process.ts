import pc from 'picocolors';
import { runProgram } from '../../src/cli/program.ts';
import type { Environment } from '../../src/config/read-variables.ts';

export interface InProcessOptions {
  /** As at a terminal: answers may have colours and so on. */
  readonly isInteractive?: boolean;
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

/** The command line inside of the test. What the logger writes goes past `stderr`: it is silent unless asked for. */
export async function runInProcess(
  args: readonly string[],
  env: Environment,
  { isInteractive = false, isStopped = false, width }: InProcessOptions = {},
): Promise<Said> {
  const said = { stdout: '', stderr: '' };
  const code = await runProgram(args, {
    env: { LOG_LEVEL: 'silent', ...env },
    signal: isStopped ? AbortSignal.abort() : new AbortController().signal,
    terminal: {
      print: (text) => void (said.stdout += `${text}\n`),
      note: (text) => void (said.stderr += `${text}\n`),
      colors: pc.createColors(false),
      noteColors: pc.createColors(false),
      isInteractive,
      width,
    },
  });
  return { code, ...said };
}
