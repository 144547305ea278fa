/** Errors of requests. Texts of the service are redacted and shortened before they become part of a message. */
import { type ErrorCode, SafetySyncError } from '../../shared/errors.ts';
import { SERVICE_ERRORS, type ServiceErrorIdentifier } from '../../shared/service-errors.ts';
import type { Redact } from '../../shared/redact.ts';

/** Bytes of an unusable response that are kept for the excerpt in the error. */
const HEAD_BYTES = 4096;

/**
 * A response that cannot be used, found when its bytes are read. Only `toUnusableError` makes it an error that leaves
 * the client, because the scanners know neither the request nor its response's status.
 */
export class UnusableResponse extends Error {
  override readonly name = 'UnusableResponse';
  readonly code: 'response_cut' | 'response_not_json' | 'response_invalid' | 'response_too_large';
  /** How the body begins, for the message. */
  head = '';
  /** For complete JSON instead: the names of its fields. */
  fields = '';

  constructor(code: UnusableResponse['code'], message: string) {
    super(message);
    this.code = code;
  }

  showBeginningOf(body: Buffer): void {
    this.head = body.toString('utf8', 0, HEAD_BYTES);
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

/** The service itself sent the error. */
export const isAnswer = ({ code }: SafetySyncError): boolean =>
  Object.hasOwn(SERVICE_ERRORS, code) || code === 'service_error_unknown';

/** Characters of a body that an error shows. */
const EXCERPT_LENGTH = 80;
/** The rest of a longer text is ignored: a description may be as large as a response. */
const LONGEST_READ = 64 * 1024;
const LONGEST_DESCRIPTION = 300;
/** Maximum length of a system error: it names host, port and reason. */
const LONGEST_REASON = 200;

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

const LONGEST_SHAPE = 400;

/** The parameters of a request for a message; the token is none of them. */
function describeRequest(params: Readonly<Record<string, unknown>>): string {
  const text = JSON.stringify(params);
  return text.length > LONGEST_SHAPE ? `${text.slice(0, LONGEST_SHAPE)}…` : text;
}

/** The request that caused an error. */
interface RequestContext {
  readonly method: string;
  readonly params: Readonly<Record<string, unknown>>;
  readonly origin: string;
  readonly redact: Redact;
}

/** The request and the beginning of its response. */
export interface ResponseContext extends RequestContext {
  readonly status: number;
  readonly headers: {
    readonly requestId: string | undefined;
    readonly retryAfterMs: number | undefined;
    readonly location: string | undefined;
  };
}

function isServiceErrorIdentifier(identifier: string): identifier is ServiceErrorIdentifier {
  return Object.hasOwn(SERVICE_ERRORS, identifier);
}

const TOO_MANY_REQUESTS = 429;

/** An error response (`ok: false`). An unusable description must not hide the identifier. */
export function toServiceError(
  { error, description }: { readonly error: string; readonly description: unknown },
  { method, params, status, headers, redact }: ResponseContext,
): SafetySyncError {
  const options = { requestId: headers.requestId, retryAfterMs: headers.retryAfterMs };
  const identifier = toServerText(error, redact);
  const described =
    typeof description === 'string'
      ? `${identifier}: ${toServerText(description, redact, LONGEST_DESCRIPTION)}`
      : identifier;
  const request = redact(`${method} ${describeRequest(params)}`);
  const known = isServiceErrorIdentifier(error) ? error : undefined;
  const unknown = known === undefined ? ' with an identifier that its specification does not name' : '';
  // If the identifier means that another attempt is useless, it decides, not the status. With an unknown identifier the
  // status decides, because a gateway may throttle with an identifier of its own.
  const canSucceedLater = known === undefined || SERVICE_ERRORS[known].recovery === 'retry';
  const isThrottled = status === TOO_MANY_REQUESTS && canSucceedLater;
  return new SafetySyncError(
    isThrottled ? 'rate_limit_exceeded' : (known ?? 'service_error_unknown'),
    `The service refused ${request}${unknown}: ${described}`,
    options,
  );
}

function describeStatus({ status, headers }: ResponseContext): string {
  if (status < 300 || status > 399) return `HTTP ${status}`;
  const target = headers.location === undefined ? '' : ` to ${headers.location}`;
  return `HTTP ${status}, a redirect${target}, not followed because the token is in the body`;
}

/** JSON, also the beginning of it, comes from the service, and its records must not be in messages. */
function isOwnResponse({ code, head }: UnusableResponse, status: number): boolean {
  if (status === 200) return code === 'response_cut' || /^[\p{C}\p{Z}\s]*[[{"]/u.test(head);
  return head.includes('"ok"');
}

/** A response that cannot be used at all. */
export function toUnusableError(unusable: UnusableResponse, context: ResponseContext): SafetySyncError {
  const { method, status, headers, redact } = context;
  const excerpt = toServerText(unusable.head, redact);
  const fields = toServerText(unusable.fields, redact);
  const isShown = excerpt !== '' && !isOwnResponse(unusable, status);
  const begins = fields !== '' ? `; its fields: ${fields}` : isShown ? `; it begins: ${excerpt}` : '';
  const options = { requestId: headers.requestId, retryAfterMs: headers.retryAfterMs };
  const said = `${method}: ${unusable.message} (${describeStatus(context)})${begins}`;
  if (status === TOO_MANY_REQUESTS) return new SafetySyncError('rate_limit_exceeded', said, options);
  // An empty body with a status that the service never uses comes from another server.
  const isOthers = status !== 200 && unusable.code === 'response_cut' && excerpt === '';
  return new SafetySyncError(isOthers ? 'response_not_json' : unusable.code, said, options);
}

/** OpenSSL's errors for a response that is not TLS. */
const NO_TLS_THERE = new Set([
  'ERR_SSL_WRONG_VERSION_NUMBER',
  'ERR_SSL_PACKET_LENGTH_TOO_LONG',
  'ERR_SSL_HTTP_REQUEST',
  'EPROTO',
]);
const NO_TLS_ADVICE =
  'Correct SAFETY_BASE_URL (base_url of the account): the port of https, or http:// if this one speaks plain http.';

function toSystemError(error: unknown): { readonly code: string | undefined; readonly message: string } {
  if (!(error instanceof Error)) return { code: undefined, message: String(error) };
  const code = 'code' in error && typeof error.code === 'string' ? error.code : undefined;
  // Several addresses were tried: the failure of one is more specific than "aggregate".
  const inner: unknown = error instanceof AggregateError ? error.errors[0] : error.cause;
  if (error.message === '' || code === undefined) {
    if (inner !== undefined && inner !== error) return toSystemError(inner);
  }
  return { code, message: error.message };
}

/**
 * No response, or a connection that broke during it. The cause has only name, code and redacted message of undici's error,
 * because that holds sockets and bytes of the response, which may echo the request with its token.
 */
export function toConnectionError(
  error: unknown,
  context: RequestContext | ResponseContext,
): SafetySyncError {
  const { method, origin, redact } = context;
  const { code, message } = toSystemError(error);
  const cause = new Error(toServerText(message, redact, LONGEST_REASON));
  if (error instanceof Error) cause.name = error.name;
  if (code !== undefined) Object.assign(cause, { code });
  const reason = code === undefined ? cause.message : `${code}: ${cause.message}`;
  if (code !== undefined && NO_TLS_THERE.has(code) && origin.startsWith('https:')) {
    const noTls = `${method}: the port of ${origin} does not speak TLS, so no https`;
    return new SafetySyncError('network_error', noTls, { cause, advice: NO_TLS_ADVICE });
  }
  if (!('headers' in context)) {
    return new SafetySyncError('network_error', `${method}: no response from ${origin} (${reason})`, {
      cause,
    });
  }
  const { requestId } = context.headers;
  return new SafetySyncError('response_cut', `${method}: the response broke off (${reason})`, {
    cause,
    requestId,
  });
}
