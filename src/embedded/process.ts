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

export const unavailable = (
  message: string,
  options: { readonly cause?: unknown; readonly advice?: string } = {},
): SafetySyncError => new SafetySyncError('embedded_unavailable', message, options);

export function isErrorWithCode(error: unknown, ...codes: readonly string[]): boolean {
  return error instanceof Error && 'code' in error && codes.includes(String(error.code));
}
