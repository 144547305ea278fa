import type { ChildProcess } from 'node:child_process';
import { SafetySyncError } from '../shared/errors.ts';

/** Works for processes of any user. A zombie counts as alive. */
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

/**
 * The process that starts a child must collect its exit; otherwise it remains a zombie where process 1 does not collect
 * orphans.
 */
export async function childExit(child: ChildProcess | undefined): Promise<void> {
  if (child === undefined || !isRunning(child)) return;
  const exited = new Promise((resolve) => child.once('exit', resolve));
  child.ref();
  await exited;
}

export const unavailable = (
  message: string,
  options: { readonly cause?: unknown; readonly advice?: string } = {},
): SafetySyncError => new SafetySyncError('embedded_unavailable', message, options);

export function isErrorWithCode(error: unknown, ...codes: readonly string[]): boolean {
  return error instanceof Error && 'code' in error && codes.includes(String(error.code));
}
