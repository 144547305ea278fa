/** Runs the jobs of one account and keeps their progress. A failure here affects no other account. */
import type { Account } from '../../app.ts';
import { createAccountHealth, type NextSync } from '../health/account-health.ts';
import { dependencyOf, type OutageLog } from '../health/outage-log.ts';
import type { Metrics } from '../status/metrics.ts';
import type { ServiceLoad } from '../status/facts.ts';
import type { SafetySyncError } from '../../shared/errors.ts';
import { type Clock, MINUTE_MS, SECOND_MS } from '../../shared/time.ts';
import type { StreamName } from '../../engine/streams/stream.ts';
import type { BackfillProgress } from '../../engine/reading/step.ts';
import { authFailureOf, type RunEvents, runFailure, type RunResult } from '../../engine/sync/run.ts';
import { runStream } from '../../engine/sync/run-stream.ts';
import type { Monitor } from './monitor.ts';
import { buildRunEvents, logResult, runName } from './run-log.ts';
import type { Job, JobTarget } from './scheduler.ts';

interface AccountRunnerOptions {
  readonly account: Account;
  readonly clock: Clock;
  readonly metrics: Metrics;
  /** The outage of the database that all accounts share. */
  readonly databaseOutage: OutageLog;
  readonly monitor: Pick<Monitor, 'refreshSoon'>;
  /** Called when a newer program has migrated the warehouse, because runs of this process can no longer store. */
  readonly onNewer: (error: SafetySyncError) => void;
}

/** A skipped sync that becomes due within this time runs then, not a whole period later. */
const SOON_MS = MINUTE_MS;
/** Margin for inexact clocks and timers. */
const MARGIN_MS = 250;
/** The clocks of several workers may differ by this. */
const MOST_SKEW_MS = 2 * SECOND_MS;

/** Schedules another sync when the source is due to change soon. */
function whenDue(result: RunResult): NextSync[] {
  if (result.outcome !== 'skipped' || result.dueInMs === undefined || result.dueInMs > SOON_MS) return [];
  return [{ stream: result.stream, inMs: result.dueInMs + MARGIN_MS }];
}

export type AccountRunner = ReturnType<typeof createAccountRunner>;

export function createAccountRunner(options: AccountRunnerOptions) {
  const { account, clock, metrics, databaseOutage, monitor } = options;
  const { log } = account;
  const health = createAccountHealth({
    log,
    clock,
    streams: account.scheduled,
    hasNewToken: () => account.api.hasNewToken,
  });
  const progress = new Map<StreamName, BackfillProgress>();
  /** Jobs whose last run the database has cut off. */
  const cutOff = new Map<string, JobTarget>();
  let hasAsked = false;

  const events: RunEvents = {
    ...buildRunEvents(account),
    onProgress: (stream, made) => void progress.set(stream, made),
    onSession: () => monitor.refreshSoon(),
  };

  function recordEnd(result: RunResult, job: Job): void {
    const { stream, kind } = job;
    const error = runFailure(result);
    const dependency = error === undefined ? undefined : dependencyOf(error);
    cutOff.delete(runName(stream, kind));
    if (error !== undefined && dependency === 'database') {
      databaseOutage.recordFailure(error, true);
      cutOff.set(runName(stream, kind), job);
    }
    // The beginning of the outage was logged, and the refusal.
    logResult(account, result, {
      kind,
      isKnown: dependency !== undefined || authFailureOf(result) !== undefined,
    });
    const { repaired } = result;
    if (repaired !== null && repaired > 0) {
      log.warn(
        { stream, repaired },
        `${stream}: a complete read found changes that an earlier sync should have brought; please report this`,
      );
    }
    if (error?.code === 'database_newer') options.onNewer(error);
    monitor.refreshSoon();
  }

  return {
    account,
    health,
    /** Progress of this process's runs. */
    progress,
    /** Load of the service; null: no request was sent yet. */
    get pressure(): ServiceLoad | null {
      // Reading `account.api` creates the client.
      return hasAsked ? account.api.pressure : null;
    },
    get retries() {
      return hasAsked ? account.api.retries : [];
    },
    /** Jobs to run again, now that the database is back. */
    get cutOff(): readonly JobTarget[] {
      return [...cutOff.values()];
    },
    recordSkippedTick({ stream, kind }: JobTarget, why: 'running' | 'waiting') {
      metrics.recordSkippedTick(account.id, stream, why);
      const state = why === 'running' ? 'still running' : 'still waiting for its turn';
      log.warn({ stream, kind }, `${runName(stream, kind)}: ${state}, this tick of the schedule is skipped`);
    },
    async run(job: Job): Promise<readonly NextSync[]> {
      const { stream, kind, triggeredMs } = job;
      const end = health.admit(stream);
      if (end === undefined) {
        metrics.recordSkippedTick(account.id, stream, 'credentials_refused');
        log.debug({ stream }, `${stream}: skipped, because the service refuses the credentials`);
        return [];
      }
      hasAsked = true;
      const result = await runStream(account.runContext(events), {
        stream,
        kind,
        trigger: 'schedule',
        // Another worker may have the same schedule, and do this reconcile first.
        ...(kind === 'reconcile' && {
          whenBusy: 'wait',
          unlessBegunWithinMs: () => clock.monotonicMs() - triggeredMs + MOST_SKEW_MS,
        }),
      });
      progress.delete(stream);
      metrics.recordRun(account.id, kind, result);
      const nextSyncs = end(result);
      recordEnd(result, job);
      return [...nextSyncs, ...whenDue(result)];
    },
  };
}
