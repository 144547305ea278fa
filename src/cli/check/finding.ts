/** The result of one check. */
export interface Check {
  readonly what: string;
  readonly result: 'ok' | 'failed' | 'skipped';
  readonly finding: string;
  /** The next step; null when none is needed. */
  readonly advice: string | null;
  readonly code?: string;
  /** For the last line, although nothing failed. */
  readonly remark?: string;
  /** The service refused the credentials. */
  readonly isRefusal?: boolean;
}

const checkOf =
  (result: Check['result']) =>
  (what: string, finding: string, advice: string | null = null): Check => ({ what, result, finding, advice });

export const ok = checkOf('ok');
export const failed = checkOf('failed');
/** Nothing is broken, but something is missing or could not be checked. */
export const skipped = checkOf('skipped');
