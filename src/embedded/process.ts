import type { ChildProcess } from 'node:child_process';

/** Of any user. A process that ended and was not collected by its parent counts as alive. */
export function isProcessAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return !isErrorWithCode(error, 'ESRCH');
  }
}

export function isRunning(child: ChildProcess | undefined): boolean {
  return child?.pid !== undefined && child.exitCode === null && child.signalCode === null;
}

/** Who starts a process collects it: else it stays as a zombie where process 1 does not do so. */
export async function childExit(child: ChildProcess): Promise<void> {
  if (!isRunning(child)) return;
  const exited = new Promise((resolve) => child.once('exit', resolve));
  child.ref();
  await exited;
}

export function isErrorWithCode(error: unknown, ...codes: readonly string[]): boolean {
  return error instanceof Error && 'code' in error && codes.includes(String(error.code));
}
