/** What a firing leads to, and what its result means for the next ones. */
import type { Account } from '../app.ts';
import type { Clock } from '../shared/time.ts';
import type { Metrics } from '../status/metrics.ts';
import { dependencyOf } from '../health/outage-log.ts';
import type { GateChange, CircuitBreaker, Ticket } from '../health/circuit-breaker.ts';
import { logResult } from './run-report.ts';
import type { Job } from './scheduler.ts';
import type { SafetySyncError } from '../shared/errors.ts';
import { formatDuration } from '../shared/format.ts';
import { MINUTE_MS } from '../shared/time.ts';
import type { StreamName } from '../streams/stream.ts';
import type { RunEvents, RunRequest, RunResult } from '../sync/run.ts';
import { runStream } from '../sync/run-stream.ts';

export interface JobsOptions {
  readonly account: Account;
  readonly clock: Clock;
  readonly events: RunEvents;
  readonly gate: CircuitBreaker;
  readonly metrics: Metrics;
  readonly scheduled: readonly StreamName[];
  readonly fire: (stream: StreamName) => void;
  readonly fireIn: (stream: StreamName, ms: number) => void;
  /** Whether its service answers, as far as this run can tell. */
  readonly noteHealth: (isWell: boolean) => void;
  readonly onEnd: () => void;
  /** The database has taken what a run had to store. */
  readonly onStored: () => void;
}

/** A skipped sync that would have something to do within this time is done then, not a whole period later. */
const SOON_MS = MINUTE_MS;
/** Clocks and timers are not exact. */
const MARGIN_MS = 250;
/** Workers whose clocks differ by less than this count as firing together. */
const MOST_SKEW_MS = MINUTE_MS;

function toRequest({ stream, kind, firedMs, periodMs }: Job, clock: Clock): RunRequest {
  const request = { stream, kind, trigger: 'schedule', allowMassDelete: false } as const;
  if (kind === 'sync') return { ...request, force: false };
  const skewMs = Math.min(MOST_SKEW_MS, (periodMs ?? Infinity) / 2);
  return {
    ...request,
    force: true,
    whenBusy: 'wait',
    unlessBegunWithinMs: () => clock.monotonicMs() - firedMs + skewMs,
  };
}

/** The service itself has said something, whatever it was. */
function isAnswered(result: RunResult): boolean {
  if (result.requests === 0) return false;
  return (
    result.outcome !== 'failed' ||
    (dependencyOf(result.error) === undefined && result.error.code !== 'interrupted')
  );
}

function refusalOf(result: RunResult): SafetySyncError | undefined {
  return result.outcome === 'failed' && result.error.recovery === 'fail_run' ? result.error : undefined;
}

export function createJobs(options: JobsOptions): (job: Job) => Promise<void> {
  const { account, clock, gate, metrics, fire, fireIn } = options;
  const { log, outages } = account;

  /** The stream behind this one: a try that brought no answer is another one's next, which may have something to ask. */
  function otherThan(stream: StreamName): StreamName {
    const { scheduled } = options;
    return scheduled[(scheduled.indexOf(stream) + 1) % scheduled.length] ?? stream;
  }

  function noteRefusal(stream: StreamName, error: SafetySyncError, { held, againMs }: GateChange): void {
    if (held === null || againMs === undefined) return;
    const what = held === 'stream' ? `${stream} is not` : 'nothing is';
    log.error(
      { stream, error_code: error.code, request_id: error.requestId, next_try_ms: againMs },
      `THE SERVICE REFUSES THE CREDENTIALS (${error.code}): ${what} asked for; the next try is in ${formatDuration(againMs)}. ${error.advice}`,
    );
    fireIn(stream, againMs);
  }

  function noteOpened(stream: StreamName, opened: GateChange['opened']): void {
    if (opened === 'stream') log.info({ stream }, `the service lets the token read ${stream} again`);
    if (opened !== 'all') return;
    log.info({ stream }, 'the service accepts the credentials again; every stream is synced now');
    for (const other of options.scheduled) if (other !== stream) fire(other);
  }

  function noteOnTicket(ticket: Ticket, result: RunResult): void {
    const { stream } = result;
    const refusal = refusalOf(result);
    if (refusal !== undefined) {
      const change = ticket.refused(refusal);
      noteOpened(stream, change.opened);
      noteRefusal(stream, refusal, change);
    } else if (isAnswered(result)) {
      noteOpened(stream, ticket.accepted().opened);
    } else {
      const { held, againMs } = ticket.unanswered();
      if (againMs === undefined) return;
      if (held === 'all') fireIn(otherThan(stream), againMs);
      // A stream that is held alone and had nothing to ask waits for its schedule.
      else if (result.outcome === 'failed') fireIn(stream, againMs);
    }
  }

  function note(job: Job, ticket: Ticket, result: RunResult): void {
    const { stream } = result;
    metrics.recordRun(account.id, job.kind, result);
    const isOutage =
      result.outcome === 'failed' && outages.noteFailure(stream, result.error, { stream, kind: job.kind });
    // Refused credentials are told once for all streams; that workers share the work is nothing to tell.
    const isTaken = result.outcome === 'skipped' && result.isTaken === true;
    const isKnown = isOutage || isTaken || refusalOf(result) !== undefined;
    logResult(account, result, { kind: job.kind, isKnown });
    if (isAnswered(result)) outages.noteAnswer('service', stream);
    else if (result.outcome !== 'failed') outages.noteUnasked(stream);
    if (result.outcome !== 'failed') {
      outages.noteAnswer('database', stream);
      options.onStored();
    }
    if (result.outcome === 'skipped' && result.dueInMs !== undefined && result.dueInMs <= SOON_MS) {
      fireIn(stream, result.dueInMs + MARGIN_MS);
    }
    if ((result.repaired ?? 0) > 0) {
      const { repaired } = result;
      log.warn(
        { stream, repaired },
        `${stream}: reconcile found changes that an earlier sync should have brought; please report this`,
      );
    }
    noteOnTicket(ticket, result);
  }

  return async (job) => {
    const { stream } = job;
    const ticket = gate.admit(stream);
    if (ticket === undefined) {
      metrics.recordSkippedTick(account.id, stream, 'credentials_refused');
      log.debug({ stream }, `${stream}: not asked, the service refuses the credentials`);
      return;
    }
    const result = await runStream(account.runContext(options.events), toRequest(job, clock));
    note(job, ticket, result);
    options.noteHealth(outages.current('service') === undefined);
    options.onEnd();
  };
}
