/** Runs the jobs of one account and keeps their progress. A failure here affects no other account. */
import type { Account } from '../../app.ts';
import type { NextSync } from '../health/account-health.ts';
import type { Metrics } from '../status/metrics.ts';
import type { ServiceLoad } from '../status/status.ts';
import type { SafetySyncError } from '../../shared/errors.ts';
import { type Clock, MINUTE_MS } from '../../shared/time.ts';
import type { StreamName } from '../../engine/streams/stream.ts';
import type { BackfillProgress } from '../../engine/reading/step.ts';
import type { RunEvents, RunRequest, RunResult } from '../../engine/sync/run.ts';
import { runStream } from '../../engine/sync/run-stream.ts';
import type { Monitor } from './monitor.ts';
import { buildRunEvents, logResult, runName } from './run-log.ts';
import type { Job } from './scheduler.ts';

interface AccountRunnerOptions {
  readonly account: Account;
  readonly clock: Clock;
  readonly metrics: Metrics;
  /** Receives database responses and changes that the runs observe. */
  readonly monitor: Pick<Monitor, 'refreshSoon' | 'recordResponse'>;
  /** Called when a newer program has migrated the warehouse, because runs of this process can no longer store. */
  readonly onNewer: (error: SafetySyncError) => void;
}

/** A skipped sync that becomes due within this time runs then, not a whole period later. */
const SOON_MS = MINUTE_MS;
/** Margin for inexact clocks and timers. */
const MARGIN_MS = 250;
/** Ticks of several workers count as one tick when their clocks differ by less than this. */
const MOST_SKEW_MS = MINUTE_MS;

/** Texts for ticks of the schedule that start no run at their time. */
const SKIPPED_TICKS = {
  running: 'still running, this tick of the schedule is skipped',
  waiting: 'still waiting for its turn, this tick of the schedule is skipped',
  missed: 'a tick of the schedule was missed and is made up for now',
};

function toRequest({ stream, kind, triggeredMs, periodMs }: Job, clock: Clock): RunRequest {
  const request = { stream, kind, trigger: 'schedule' } as const;
  if (kind === 'sync') return request;
  const skewMs = Math.min(MOST_SKEW_MS, (periodMs ?? Infinity) / 2);
  return {
    ...request,
    whenBusy: 'wait',
    unlessBegunWithinMs: () => clock.monotonicMs() - triggeredMs + skewMs,
  };
}

/** Schedules another sync when the source is due to change soon. */
function whenDue(result: RunResult): NextSync[] {
  if (result.outcome !== 'skipped' || result.dueInMs === undefined || result.dueInMs > SOON_MS) return [];
  return [{ stream: result.stream, inMs: result.dueInMs + MARGIN_MS }];
}

export type AccountRunner = ReturnType<typeof createAccountRunner>;

export function createAccountRunner(options: AccountRunnerOptions) {
  const { account, clock, metrics, monitor } = options;
  const { log, health } = account;
  const progress = new Map<StreamName, BackfillProgress>();
  let hasAsked = false;

  const events: RunEvents = {
    ...buildRunEvents(account),
    onProgress: (stream, made) => void progress.set(stream, made),
    onSession: () => {
      monitor.recordResponse();
      monitor.refreshSoon();
    },
    onBegun: (stream) => health.recordBegun(stream),
    onSessionEnd: (stream) => void progress.delete(stream),
  };

  return {
    account,
    /** Progress of this process's runs. */
    progress,
    /** Load of the service; null: no request was sent yet. */
    get pressure(): ServiceLoad | null {
      // Reading `account.api` creates the client, which would waste memory for thousands of idle accounts.
      return hasAsked ? account.api.pressure : null;
    },
    recordSkippedTick({ stream, kind }: Pick<Job, 'stream' | 'kind'>, why: keyof typeof SKIPPED_TICKS) {
      metrics.recordSkippedTick(account.id, stream, why);
      log.warn({ stream, kind }, `${runName(stream, kind)}: ${SKIPPED_TICKS[why]}`);
    },
    async run(job: Job): Promise<readonly NextSync[]> {
      const { stream, kind } = job;
      const permit = health.admit(stream);
      if (permit === undefined) {
        metrics.recordSkippedTick(account.id, stream, 'credentials_refused');
        log.debug({ stream }, `${stream}: skipped, because the service refuses the credentials`);
        return [];
      }
      hasAsked = true;
      const result = await runStream(account.runContext(events), toRequest(job, clock));
      metrics.recordRun(account.id, kind, result);
      const { isLogged, nextSyncs } = permit.end(result, kind);
      logResult(account, result, { kind, isKnown: isLogged });
      if ((result.repaired ?? 0) > 0) {
        const { repaired } = result;
        log.warn(
          { stream, repaired },
          `${stream}: reconcile found changes that an earlier sync should have brought; please report this`,
        );
      }
      if (result.outcome !== 'failed') monitor.recordResponse();
      else if (result.error.code === 'database_newer') options.onNewer(result.error);
      monitor.refreshSoon();
      return [...nextSyncs, ...whenDue(result)];
    },
  };
}
