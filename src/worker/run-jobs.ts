/** What a firing leads to, and what its result means for the next ones. */
import type { Account } from '../app.ts';
import type { Clock } from '../shared/time.ts';
import type { Metrics } from '../ops/metrics.ts';
import { dependencyOf } from '../ops/outage-log.ts';
import type { RefusalGate } from '../ops/refusal-gate.ts';
import { logResult } from '../ops/run-report.ts';
import type { Job } from '../scheduler/scheduler.ts';
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
  readonly gate: RefusalGate;
  readonly metrics: Metrics;
  readonly scheduled: readonly StreamName[];
  readonly fire: (stream: StreamName) => void;
  readonly fireIn: (stream: StreamName, ms: number) => void;
  /** Whether its service answers, as far as this run can tell. */
  readonly noteHealth: (isWell: boolean) => void;
  readonly onEnd: () => void;
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

export function createJobs(options: JobsOptions): (job: Job) => Promise<void> {
  const { account, clock, gate, metrics, fire, fireIn } = options;
  const { log, outages } = account;

  function noteRefusal(stream: StreamName, error: SafetySyncError): void {
    const delayMs = gate.noteRefused(stream, error);
    if (delayMs === undefined) return;
    const what = error.code === 'token_permission' ? `${stream} is` : 'nothing is';
    log.error(
      { stream, error_code: error.code, request_id: error.requestId, next_try_ms: delayMs },
      `THE SERVICE REFUSES THE CREDENTIALS (${error.code}): ${what} asked for, but for one try in ${formatDuration(delayMs)}. ${error.advice}`,
    );
    fireIn(stream, delayMs);
  }

  function noteGate(result: RunResult): void {
    const { stream } = result;
    if (result.outcome === 'failed' && result.error.recovery === 'fail_run') {
      noteRefusal(stream, result.error);
    } else if (!isAnswered(result)) {
      const againMs = gate.noteUnknown(stream);
      if (againMs !== undefined) fireIn(stream, againMs);
    } else if (gate.noteAccepted(stream) === 'opened') {
      log.info({ stream }, 'the service accepts the credentials again; every stream is synced now');
      for (const other of options.scheduled) if (other !== stream) fire(other);
    }
  }

  function note(job: Job, result: RunResult): void {
    const { stream } = result;
    metrics.noteRun(account.id, job.kind, result);
    const isKnown =
      result.outcome === 'failed' && outages.noteFailure(stream, result.error, { stream, kind: job.kind });
    logResult(account, result, { kind: job.kind, isKnown });
    if (isAnswered(result)) outages.noteAnswer('service', stream);
    if (result.outcome !== 'failed') outages.noteAnswer('database', stream);
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
    noteGate(result);
  }

  return async (job) => {
    const { stream } = job;
    if (!gate.admits(stream)) {
      metrics.noteSkippedFiring(account.id, stream, 'credentials_refused');
      log.debug({ stream }, `${stream}: not asked, the service refuses the credentials`);
      return;
    }
    const result = await runStream(account.runContext(options.events), toRequest(job, clock));
    note(job, result);
    options.noteHealth(outages.current('service') === undefined);
    options.onEnd();
  };
}
