import { SECOND_MS } from '../shared/time.ts';
import { toServerText } from './server-text.ts';
import type { Redact } from './token-redactor.ts';

/** Header names in lower case, as undici gives them. */
export type RawHeaders = Readonly<Record<string, string | string[] | undefined>>;

export interface AnswerHeaders {
  readonly requestId: string | undefined;
  /** ms since 1970 by the other side's clock. */
  readonly serviceTimeMs: number | undefined;
  /** ms that the service says it worked on the answer. */
  readonly responseTimeMs: number | undefined;
  /** ms that the other side asks us to wait before the next request. */
  readonly retryAfterMs: number | undefined;
  /** In lower case; undefined where the body comes as it is. */
  readonly contentEncoding: string | undefined;
  readonly location: string | undefined;
}

function first(headers: RawHeaders, name: string): string | undefined {
  const value = headers[name];
  return Array.isArray(value) ? value[0] : value;
}

/** The specification calls its prefix "neutral": where SVC- is missing, another prefix of the same header will do. */
function firstWithAnyPrefix(headers: RawHeaders, suffix: string): string | undefined {
  const other = Object.keys(headers).find((name) => name.endsWith(`-${suffix}`));
  return first(headers, `svc-${suffix}`) ?? (other === undefined ? undefined : first(headers, other));
}

function toNonNegative(text: string | undefined): number | undefined {
  if (text === undefined || text.trim() === '') return undefined;
  const value = Number(text);
  return Number.isFinite(value) && value >= 0 ? value : undefined;
}

function toTime(text: string | undefined): number | undefined {
  const time = text === undefined ? Number.NaN : Date.parse(text);
  return Number.isFinite(time) ? time : undefined;
}

/** Seconds, or a date: that is held against the other side's own Date, ours may be hours off. */
function toRetryAfterMs(text: string | undefined, nowMs: number): number | undefined {
  const seconds = toNonNegative(text);
  if (seconds !== undefined) return seconds * SECOND_MS;
  const time = toTime(text);
  return time === undefined ? undefined : Math.max(0, time - nowMs);
}

export function readAnswerHeaders(headers: RawHeaders, redact: Redact, nowMs: number): AnswerHeaders {
  const serviceTimeMs = toTime(first(headers, 'date'));
  const requestId = toServerText(firstWithAnyPrefix(headers, 'request-id') ?? '', redact);
  const encoding = first(headers, 'content-encoding')?.trim().toLowerCase();
  const location = first(headers, 'location');
  return {
    requestId: requestId === '' ? undefined : requestId,
    serviceTimeMs,
    responseTimeMs: toNonNegative(firstWithAnyPrefix(headers, 'response-time')),
    retryAfterMs: toRetryAfterMs(first(headers, 'retry-after'), serviceTimeMs ?? nowMs),
    contentEncoding: encoding === '' || encoding === 'identity' ? undefined : encoding,
    location: location === undefined ? undefined : toServerText(location, redact),
  };
}
