import { SafetySyncError, SERVICE_ERRORS } from '../shared/errors.ts';
import type { ServiceErrorIdentifier } from '../shared/errors.ts';
import type { AnswerDefect } from './answer-defect.ts';
import type { AnswerHeaders } from './answer-headers.ts';
import type { Verdict } from './envelope.ts';
import { describeRequestShape } from './request-shape.ts';
import { toServerText } from './server-text.ts';
import type { Redact } from './token-redactor.ts';

const TOO_MANY_REQUESTS = 429;
const LONGEST_DESCRIPTION = 300;

/** What an error says about the answer that caused it. */
export interface AnswerContext {
  readonly method: string;
  readonly params: Readonly<Record<string, unknown>>;
  readonly status: number;
  readonly headers: AnswerHeaders;
  readonly redact: Redact;
}

function isServiceErrorIdentifier(identifier: string): identifier is ServiceErrorIdentifier {
  return Object.hasOwn(SERVICE_ERRORS, identifier);
}

/** An answer with `ok: false`. */
export function buildServiceError(
  refusal: Extract<Verdict, { kind: 'refusal' }>,
  context: AnswerContext,
): SafetySyncError {
  const { method, params, headers, redact } = context;
  const options = { requestId: headers.requestId, retryAfterMs: headers.retryAfterMs };
  const identifier = toServerText(refusal.identifier, redact);
  const described =
    refusal.description === undefined
      ? identifier
      : `${identifier}: ${toServerText(refusal.description, redact, LONGEST_DESCRIPTION)}`;
  const request = redact(`${method} ${describeRequestShape(params)}`);
  return isServiceErrorIdentifier(refusal.identifier)
    ? new SafetySyncError(refusal.identifier, `The service refused ${request}: ${described}`, options)
    : new SafetySyncError(
        'service_error_unknown',
        `The service refused ${request} with an identifier that its specification does not name: ${described}`,
        options,
      );
}

function describeStatus({ status, headers }: AnswerContext): string {
  if (status < 300 || status > 399) return `HTTP ${status}`;
  const target = headers.location === undefined ? '' : ` to ${headers.location}`;
  return `HTTP ${status}, a redirect${target}, not followed because the token is in the body`;
}

/** An answer that cannot be used at all. `head` is the beginning of its body. */
export function buildAnswerFailure(
  defect: Pick<AnswerDefect, 'code' | 'message'>,
  head: string,
  context: AnswerContext,
): SafetySyncError {
  const { method, status, headers, redact } = context;
  const excerpt = toServerText(head, redact);
  // What was cut is the service's own answer: its records are not for messages.
  const begins =
    excerpt === '' || (status === 200 && defect.code === 'response_cut') ? '' : `; it begins: ${excerpt}`;
  const options = { requestId: headers.requestId, retryAfterMs: headers.retryAfterMs };
  const said = `${method}: ${defect.message} (${describeStatus(context)})${begins}`;
  if (status === TOO_MANY_REQUESTS) return new SafetySyncError('rate_limit_exceeded', said, options);
  // Nothing at all behind a status that the service never uses: someone else answered.
  const code =
    status !== 200 && defect.code === 'response_cut' && excerpt === '' ? 'response_not_json' : defect.code;
  return new SafetySyncError(code, said, options);
}
