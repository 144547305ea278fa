/** Runs the jobs of one account. A failure here affects no other account. */
import type { Account } from '../../app.ts';
import { createAccountHealth, type NextSync } from './account-health.ts';
import { isOutage } from '../status/facts.ts';
import type { Metrics } from '../status/metrics.ts';
import type { SafetySyncError } from '../../shared/errors.ts';
import { type Clock, MINUTE_MS } from '../../shared/time.ts';
import { runFailure, type RunResult } from '../../engine/sync/run.ts';
import { runStream } from '../../engine/sync/run-stream.ts';
import type { Monitor } from './monitor.ts';
import { buildRunEvents, logResult, runName } from './run-log.ts';
import type { Job } from './scheduler.ts';

interface AccountRunnerOptions {
  readonly account: Account;
  readonly clock: Clock;
  readonly metrics: Metrics;
  readonly monitor: Pick<Monitor, 'latest' | 'refreshSoon' | 'recordFailure'>;
  /** Called when a newer program has migrated the warehouse, because runs of this process can no longer store. */
  readonly onNewer: (error: SafetySyncError) => void;
}

/** A skipped sync that becomes due within this time runs then, not a whole period later. */
const SOON_MS = MINUTE_MS;
/** Margin for inexact clocks and timers. */
const MARGIN_MS = 250;

/** Schedules another sync when the source is due to change soon. */
function whenDue(result: RunResult): NextSync[] {
  if (result.outcome !== 'skipped' || result.dueInMs === undefined || result.dueInMs > SOON_MS) return [];
  return [{ stream: result.stream, inMs: result.dueInMs + MARGIN_MS }];
}

export type AccountRunner = ReturnType<typeof createAccountRunner>;

export function createAccountRunner({ account, clock, metrics, monitor, onNewer }: AccountRunnerOptions) {
  const { log, id } = account;
  const health = createAccountHealth(account, clock, (asked) => {
    const { streams = [] } = monitor.latest.accountsRead?.accounts.get(id) ?? {};
    const own = streams.filter(({ stream }) => ['', stream].includes(asked));
    return Math.max(0, ...own.map(({ lastSuccessMs }) => lastSuccessMs ?? 0));
  });
  /** Jobs with a last run that the database has cut off. */
  const cutOff = new Map<string, Job>();

  function recordEnd(result: RunResult, job: Job): void {
    const { stream, kind } = job;
    const error = runFailure(result);
    const isCutOff = error !== undefined && isOutage(error);
    cutOff.delete(runName(stream, kind));
    if (isCutOff) {
      monitor.recordFailure(error);
      cutOff.set(runName(stream, kind), job);
    }
    // The beginning of the outage was logged, and the refusal.
    logResult(account, result, { kind, isKnown: isCutOff || error?.recovery === 'fail_run' });
    if ((result.repaired ?? 0) > 0)
      log.warn(
        { stream, repaired: result.repaired },
        `${stream}: a complete read found changes that no sync had brought: the service gave them no new updated_on, or a sync missed them`,
      );
    if (error?.code === 'database_newer') onNewer(error);
    monitor.refreshSoon();
  }

  return {
    account,
    health,
    /** Jobs to run again, now that the database is back. */
    get cutOff(): readonly Job[] {
      return [...cutOff.values()];
    },
    async run(job: Job): Promise<readonly NextSync[]> {
      const { stream, kind } = job;
      if (!health.mayRun(stream)) {
        metrics.recordSkippedTick(id, stream, 'credentials_refused');
        log.debug({ stream }, `${stream}: skipped, because the service refuses the credentials`);
        return [];
      }
      // The status shows a run that is under way.
      monitor.refreshSoon();
      const context = account.runContext(buildRunEvents(account));
      const result = await runStream(context, { stream, kind, trigger: 'schedule' });
      metrics.recordRun(id, kind, result);
      const nextSyncs = health.end(result);
      recordEnd(result, job);
      return [...nextSyncs, ...whenDue(result)];
    },
  };
}
