import { SafetySyncError } from '../shared/errors.ts';

type Details = { readonly cause?: unknown; readonly advice?: string };

export const unavailable = (message: string, details: Details = {}): SafetySyncError =>
  new SafetySyncError('embedded_unavailable', message, details);

export function isErrorWithCode(error: unknown, ...codes: readonly string[]): boolean {
  return error instanceof Error && 'code' in error && codes.includes(String(error.code));
}
