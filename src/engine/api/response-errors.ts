/** Errors of requests. Texts of the service are redacted and shortened before they become part of a message. */
import { type ErrorCode, SafetySyncError } from '../../shared/errors.ts';
import { SERVICE_ERRORS } from '../../shared/service-errors.ts';
import type { Redact } from '../../shared/redact.ts';
import type { ApiRequest } from './requests.ts';

/**
 * A response that cannot be used, found when its bytes are read. Only `toUnusableError` makes it an error that leaves
 * the client, because the scanners know neither the request nor its response's status.
 */
export class UnusableResponse extends Error {
  override readonly name = 'UnusableResponse';
  readonly code: 'response_cut' | 'response_not_json' | 'response_invalid' | 'response_too_large';

  constructor(code: UnusableResponse['code'], message: string) {
    super(message);
    this.code = code;
  }
}

/** Errors that a service which is well may return for a single id, record or equipment type. */
const REQUEST_SPECIFIC: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  'server_error',
  'service_error_unknown',
  'request_timeout',
  'response_not_json',
  'response_cut',
  'response_invalid',
]);

export function isRequestSpecific(error: unknown): error is SafetySyncError {
  return error instanceof SafetySyncError && REQUEST_SPECIFIC.has(error.code);
}

/** Characters of a body that an error shows. */
const EXCERPT_LENGTH = 80;
/** The rest of a longer text is ignored: a description may be as large as a response. */
const LONGEST_READ = 64 * 1024;
const LONGEST_DESCRIPTION = 300;

/**
 * Makes a text of the service safe for messages and logs: printable characters on one line, without the token, at most
 * `longest` of them. The token is removed before the text is cut, so that no part of it is left at the end.
 */
export function toServerText(text: string, redact: Redact, longest: number = EXCERPT_LENGTH): string {
  const oneLine = redact(text.slice(0, LONGEST_READ))
    .replace(/[\p{C}\p{Z}\s]+/gu, ' ')
    .trim();
  const safe = redact(oneLine);
  return safe.length > longest ? `${safe.slice(0, longest)}…` : safe;
}

/** The request that caused an error. */
interface RequestContext extends Pick<ApiRequest, 'method' | 'params'> {
  readonly origin: string;
  readonly redact: Redact;
}

/** The request and the beginning of its response. */
export interface ResponseContext extends RequestContext {
  readonly status: number;
  readonly headers: Pick<SafetySyncError, 'requestId' | 'retryAfterMs'> & {
    readonly location: string | undefined;
  };
}

const TOO_MANY_REQUESTS = 429;

/** undefined: an identifier that means nothing to us. One more of `token_…`, such as `token_expired`, refuses the token, too. */
function codeOf(identifier: string): keyof typeof SERVICE_ERRORS | undefined {
  if (Object.hasOwn(SERVICE_ERRORS, identifier)) return identifier as keyof typeof SERVICE_ERRORS;
  return identifier.startsWith('token_') ? 'token_invalid' : undefined;
}

/** An error response (`ok: false`). An unusable description must not hide the identifier. */
export function toServiceError(
  { error, description }: { readonly error: string; readonly description: unknown },
  { method, params, status, headers, redact }: ResponseContext,
): SafetySyncError {
  const known = codeOf(error);
  // If the identifier means that another attempt is useless, it decides, not the status. With an unknown identifier the
  // status decides, because a gateway may throttle with an identifier of its own.
  const canSucceedLater = known === undefined || SERVICE_ERRORS[known].recovery === 'retry';
  const isThrottled = status === TOO_MANY_REQUESTS && canSucceedLater;
  const request = toServerText(`${method} ${JSON.stringify(params)}`, redact, LONGEST_DESCRIPTION);
  const unknown = known !== error ? ' with an identifier that its specification does not name' : '';
  const said = typeof description === 'string' ? `${error}: ${description}` : error;
  return new SafetySyncError(
    isThrottled ? 'rate_limit_exceeded' : (known ?? 'service_error_unknown'),
    `The service refused ${request}${unknown}: ${toServerText(said, redact, LONGEST_DESCRIPTION)}`,
    headers,
  );
}

/** A response that cannot be used at all. `body`: not shown where it may be JSON, because records must not be in messages. */
export function toUnusableError(
  { code, message }: UnusableResponse,
  { method, status, headers, redact }: ResponseContext,
  body: string,
): SafetySyncError {
  const { location } = headers;
  const target = location === undefined ? '' : `, a redirect to ${location} that is not followed`;
  const excerpt = /^[\p{C}\p{Z}\s]*[[{"]/u.test(body) ? '' : toServerText(body, redact);
  const begins = excerpt === '' ? '' : `; it begins: ${excerpt}`;
  return new SafetySyncError(
    status === TOO_MANY_REQUESTS ? 'rate_limit_exceeded' : code,
    `${method}: ${toServerText(message, redact, LONGEST_DESCRIPTION)} (HTTP ${status}${target})${begins}`,
    headers,
  );
}

function toSystemError(error: unknown): { readonly code: string | undefined; readonly message: string } {
  if (!(error instanceof Error)) return { code: undefined, message: String(error) };
  const code = 'code' in error && typeof error.code === 'string' ? error.code : undefined;
  // Several addresses were tried: the failure of one is more specific than "aggregate".
  const inner: unknown = error instanceof AggregateError ? error.errors[0] : error.cause;
  if (inner !== undefined && (error.message === '' || code === undefined)) return toSystemError(inner);
  return { code, message: error.message };
}

/**
 * No response, or a connection that broke during it. The cause has only code and redacted message of undici's error,
 * because that holds sockets and bytes of the response, which may echo the request with its token.
 */
export function toConnectionError(
  error: unknown,
  context: RequestContext | ResponseContext,
): SafetySyncError {
  const { method, origin, redact } = context;
  const { code, message } = toSystemError(error);
  const said = toServerText(message, redact, LONGEST_DESCRIPTION);
  const cause = Object.assign(new Error(said), { code });
  const reason = code === undefined ? said : `${code}: ${said}`;
  if (!('headers' in context))
    return new SafetySyncError('network_error', `${method}: no response from ${origin} (${reason})`, {
      cause,
    });
  const { requestId } = context.headers;
  return new SafetySyncError('response_cut', `${method}: the response broke off (${reason})`, {
    cause,
    requestId,
  });
}
