/**
 * When an account's service may be asked again, from the results of its runs. A service that refuses the credentials is left
 * alone for 15 minutes, then for 30, then for an hour each. A service that cannot be used is asked at every tick,
 * because it sends no sign of its return.
 */
import type { Account } from '../../app.ts';
import { backoff } from '../../shared/backoff.ts';
import type { SafetySyncError } from '../../shared/errors.ts';
import { formatDuration } from '../../shared/format.ts';
import { type Clock, HOUR_MS, MINUTE_MS } from '../../shared/time.ts';
import type { StreamName } from '../../engine/streams/stream.ts';
import { runFailure, type RunResult } from '../../engine/sync/run.ts';
import { isOutage, type Refusal } from '../status/facts.ts';

/** A sync that follows from the result of another run. */
export interface NextSync {
  readonly stream: StreamName;
  /** 0: now. */
  readonly inMs: number;
}

const DELAYS = { firstMs: 15 * MINUTE_MS, mostMs: HOUR_MS };
/** Tolerance for timers that fire early. */
const TOLERANCE_MS = 50;

type Asked = Pick<Account, 'log' | 'scheduled'> & { readonly api: Pick<Account['api'], 'hasNewToken'> };

/** `lastSuccessMs`: of a stream, or, empty, of any of the account, also by another process. */
export function createAccountHealth(
  { log, scheduled, api }: Asked,
  clock: Clock,
  lastSuccessMs: (subject: string) => number,
) {
  /** By subject. `count`: refusals in a row, the last one at `atMs`. */
  const held = new Map<string, Refusal & Readonly<Record<'count' | 'atMs', number>>>();

  /** A later success shows that the credentials are accepted. */
  function refusalOf(subject: string) {
    const refusal = held.get(subject);
    return refusal !== undefined && lastSuccessMs(subject) <= refusal.atMs ? refusal : undefined;
  }
  const nextTryMs = (...subjects: readonly string[]): number =>
    Math.max(...subjects.map((one) => refusalOf(one)?.nextTryMs ?? 0));
  const isWaiting = (...subjects: readonly string[]): boolean =>
    clock.now() < nextTryMs(...subjects) - TOLERANCE_MS;

  function refuse(stream: StreamName, { code, advice, requestId }: SafetySyncError): NextSync[] {
    const subject = code === 'token_permission' ? stream : '';
    const before = refusalOf(subject);
    // Runs of one tick end together: only the first refusal says something new.
    if (before !== undefined && isWaiting(subject) && !api.hasNewToken) return [];
    const count = (before?.count ?? 0) + 1;
    const inMs = backoff(count, DELAYS);
    const nowMs = clock.now();
    const times = { sinceMs: before?.sinceMs ?? nowMs, atMs: nowMs, nextTryMs: nowMs + inMs };
    held.set(subject, { subject, code, advice, count, ...times });
    log.error(
      { stream, error_code: code, request_id: requestId, next_try_ms: inMs },
      `THE SERVICE REFUSES THE CREDENTIALS (${code}): ${subject === '' ? 'nothing is' : `${subject} is not`} requested; the next try is in ${formatDuration(inMs)}. ${advice}`,
    );
    return [{ stream, inMs }];
  }

  return {
    /** False: the stream must not be requested now. */
    mayRun: (stream: StreamName): boolean => !isWaiting('', stream) || api.hasNewToken,
    /** 0: the stream is not held. */
    nextTryMs: (stream: StreamName): number => nextTryMs('', stream),
    /** Consequences of the result of a run. */
    end(result: RunResult): NextSync[] {
      const { stream, requests } = result;
      const failure = runFailure(result);
      // The service would refuse every further request of the account, too.
      const error = failure?.recovery === 'fail_run' ? failure : undefined;
      if (error !== undefined && error.code !== 'token_permission') return refuse(stream, error);
      // Without a response of the service nothing is known of the credentials.
      const isAnswered =
        failure === undefined ||
        !(failure.recovery === 'retry' || failure.code === 'interrupted' || isOutage(failure));
      if (requests === 0 || !isAnswered) return [];
      // Also a token that lacks a permission is a valid one.
      const isAccepted = held.delete('');
      if (isAccepted)
        log.info({ stream }, 'the service accepts the credentials again; every stream is synced now');
      const next = isAccepted ? scheduled.filter((one) => one !== stream) : [];
      const others = next.map((one) => ({ stream: one, inMs: 0 }));
      if (error !== undefined) return [...others, ...refuse(stream, error)];
      if (held.delete(stream)) log.info({ stream }, `the service lets the token read ${stream} again`);
      return others;
    },
    get refusals(): readonly Refusal[] {
      return [...held.keys()].flatMap((key) => refusalOf(key) ?? []);
    },
  };
}
