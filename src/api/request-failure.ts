import { SafetySyncError } from '../shared/errors.ts';
import { toServerText } from './server-text.ts';
import type { Redact } from './token-redactor.ts';

/** Longer than an excerpt of a body: system errors name host, port and reason. */
const LONGEST_REASON = 200;

/** How OpenSSL calls an answer that is no TLS. */
const NO_TLS_THERE = new Set([
  'ERR_SSL_WRONG_VERSION_NUMBER',
  'ERR_SSL_PACKET_LENGTH_TOO_LONG',
  'ERR_SSL_HTTP_REQUEST',
  'EPROTO',
]);
const NO_TLS_ADVICE =
  'Correct SAFETY_BASE_URL (base_url of the account): the port of https, or http:// if this one speaks plain http.';

interface SystemError {
  readonly code: string | undefined;
  readonly message: string;
}

function toSystemError(error: unknown): SystemError {
  if (!(error instanceof Error)) return { code: undefined, message: String(error) };
  const code = 'code' in error && typeof error.code === 'string' ? error.code : undefined;
  // Several addresses were tried: each one's failure says more than "aggregate".
  const inner: unknown = error instanceof AggregateError ? error.errors[0] : error.cause;
  if (error.message === '' || code === undefined) {
    if (inner !== undefined && inner !== error) return toSystemError(inner);
  }
  return { code, message: error.message };
}

/**
 * The cause that goes on with our errors. undici's own error objects hold sockets and bytes of the answer, and an
 * answer may echo the request with its token: only name, code and cleaned message are kept.
 */
export function toCleanCause(error: unknown, redact: Redact): Error {
  const { code, message } = toSystemError(error);
  const cause = new Error(toServerText(message, redact, LONGEST_REASON));
  if (error instanceof Error) cause.name = error.name;
  return code === undefined ? cause : Object.assign(cause, { code });
}

export interface RequestFailure {
  readonly method: string;
  readonly origin: string;
  readonly error: unknown;
  readonly redact: Redact;
  readonly requestId: string | undefined;
  /** The beginning of the answer had arrived: then it is the answer that was cut. */
  readonly answerBegan: boolean;
}

export function buildRequestFailure(failure: RequestFailure): SafetySyncError {
  const { method, origin, error, redact, requestId, answerBegan } = failure;
  const cause = toCleanCause(error, redact);
  const { code } = toSystemError(error);
  const reason = code === undefined ? cause.message : `${code}: ${cause.message}`;
  if (code === 'UND_ERR_CONNECT_TIMEOUT') {
    return new SafetySyncError('request_timeout', `${method}: no connection to ${origin} (${reason})`, {
      cause,
    });
  }
  if (code !== undefined && NO_TLS_THERE.has(code) && origin.startsWith('https:')) {
    const message = `${method}: the port of ${origin} does not speak TLS, so no https`;
    return new SafetySyncError('network_error', message, { cause, advice: NO_TLS_ADVICE });
  }
  return answerBegan
    ? new SafetySyncError('response_cut', `${method}: the answer broke off (${reason})`, { cause, requestId })
    : new SafetySyncError('network_error', `${method}: no answer from ${origin} (${reason})`, { cause });
}
