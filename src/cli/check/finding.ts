import { formatCount, formatNumber } from '../../shared/format.ts';

/** The result of one check. */
export interface Check {
  readonly what: string;
  readonly result: 'ok' | 'failed' | 'skipped';
  readonly finding: string;
  /** The next step; null when none is needed. */
  readonly advice: string | null;
  readonly code?: string;
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

const DIFFERENCE_ADVICE =
  'What changed since the last sync can be the reason, or records that could not be stored (safety-sync data-issues). If it stays after a sync: safety-sync reconcile';

/** A difference is no failure: the source may have changed since the last sync. `rows` undefined: nothing to compare. */
export function compareTotal(what: string, total: number, rows: number | undefined): Check {
  const responds = `responds, ${formatNumber(total, 'record')}`;
  if (rows === undefined) return ok(what, responds);
  if (rows === total) return ok(what, `${responds}, as many as the warehouse has`);
  return skipped(what, `${responds}, and the warehouse has ${formatCount(rows)}`, DIFFERENCE_ADVICE);
}
