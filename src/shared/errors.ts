/**
 * Every failure that has a name in this program. `recovery` determines whether to retry, fail the stream or stop the run.
 * Code that handles one specific failure compares `code`, which is also in logs, `runs.error_code` and docs/errors.md.
 * Messages are never compared.
 */
import { READ_ERRORS, type Recovery, SERVICE_ERRORS, TRANSPORT_ERRORS } from './service-errors.ts';
import { PROGRAM_ERRORS, WAREHOUSE_ERRORS } from './warehouse-errors.ts';

export const ERROR_KINDS = {
  ...SERVICE_ERRORS,
  ...TRANSPORT_ERRORS,
  ...READ_ERRORS,
  ...WAREHOUSE_ERRORS,
  ...PROGRAM_ERRORS,
};

export type ErrorCode = keyof typeof ERROR_KINDS;

/** The advice about an error, by its code as `runs` has it. */
export const adviceOf = (code: string): string =>
  code in ERROR_KINDS ? ERROR_KINDS[code as ErrorCode].advice : '';

interface SafetySyncErrorOptions {
  readonly cause?: unknown;
  /** Advice that is more specific than that of the code, which is the default. */
  readonly advice?: string | undefined;
  /** The service's `SVC-Request-ID` of the failing call. */
  readonly requestId?: string | undefined;
  /** The delay that the other side requested, in ms. */
  readonly retryAfterMs?: number | undefined;
}

/** The one error class: `code` names the error, `recovery` determines the next step. */
export class SafetySyncError extends Error {
  override readonly name = 'SafetySyncError';
  readonly code: ErrorCode;
  readonly recovery: Recovery;
  readonly advice: string;
  readonly requestId: string | undefined;
  readonly retryAfterMs: number | undefined;

  constructor(code: ErrorCode, message: string, options: SafetySyncErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.recovery = ERROR_KINDS[code].recovery;
    this.advice = options.advice ?? ERROR_KINDS[code].advice;
    this.requestId = options.requestId;
    this.retryAfterMs = options.retryAfterMs;
  }
}

/** The input of the caller cannot be used. `advice`: more specific than that of the code. */
export const usageError = (message: string, advice?: string, cause?: unknown): SafetySyncError =>
  new SafetySyncError('usage_invalid', message, { advice, cause });

/** Marks the promise as handled, so Node.js raises no unhandled rejection; awaiting it still rejects. */
export function ignoreRejection<Result>(promise: Promise<Result>): Promise<Result> {
  promise.catch(() => undefined);
  return promise;
}

/** A request that failed and is sent again. Times are ms since 1970, by this process's clock. */
export interface Wait {
  readonly method: string;
  readonly code: string;
  /** For example `connection refused`. */
  readonly reason: string;
  /** The attempt that failed, and the most of them. */
  readonly attempt: number;
  readonly attempts: number;
  /** Since when the method's requests fail, and when the next attempt begins. */
  readonly sinceMs: number;
  readonly nextMs: number;
}
