/** One account in a worker: its jobs, and what is known of them while they run. What it does touches no other account. */
import type { Account } from '../app.ts';
import type { NextSync } from '../health/account-health.ts';
import type { Metrics } from '../status/metrics.ts';
import type { PressureReport } from '../status/status.ts';
import type { SafetySyncError } from '../shared/errors.ts';
import { type Clock, MINUTE_MS } from '../shared/time.ts';
import type { StreamName } from '../streams/stream.ts';
import type { BackfillProgress } from '../reading/step.ts';
import type { RunEvents, RunRequest, RunResult } from '../sync/run.ts';
import { runStream } from '../sync/run-stream.ts';
import type { Monitor } from './monitor.ts';
import { buildRunEvents, logResult } from './run-report.ts';
import type { Job } from './scheduler.ts';

export interface AccountRunner {
  readonly account: Account;
  /** Of runs of this process. */
  readonly progress: ReadonlyMap<StreamName, BackfillProgress>;
  /** null: its service was not asked by this process yet. */
  readonly pressure: PressureReport | null;
  run(job: Job): Promise<readonly NextSync[]>;
}

interface AccountRunnerOptions {
  readonly account: Account;
  readonly clock: Clock;
  readonly metrics: Metrics;
  /** Is told what runs tell of the database. */
  readonly monitor: Pick<Monitor<unknown, unknown>, 'refreshSoon' | 'recordResponse'>;
  /** A newer program has migrated the warehouse: no run of this process can store any more. */
  readonly onNewer: (error: SafetySyncError) => void;
}

/** A skipped sync that would have something to do within this time is done then, not a whole period later. */
const SOON_MS = MINUTE_MS;
/** Clocks and timers are not exact. */
const MARGIN_MS = 250;
/** Ticks of workers whose clocks differ by less than this count as one. */
const MOST_SKEW_MS = MINUTE_MS;

function toRequest({ stream, kind, triggeredMs, periodMs }: Job, clock: Clock): RunRequest {
  const request = { stream, kind, trigger: 'schedule', allowMassDelete: false } as const;
  if (kind === 'sync') return { ...request, force: false };
  const skewMs = Math.min(MOST_SKEW_MS, (periodMs ?? Infinity) / 2);
  return {
    ...request,
    force: true,
    whenBusy: 'wait',
    unlessBegunWithinMs: () => clock.monotonicMs() - triggeredMs + skewMs,
  };
}

/** A stream whose source changes soon is synced again then. */
function whenDue(result: RunResult): NextSync[] {
  if (result.outcome !== 'skipped' || result.dueInMs === undefined || result.dueInMs > SOON_MS) return [];
  return [{ stream: result.stream, inMs: result.dueInMs + MARGIN_MS }];
}

export function createAccountRunner(options: AccountRunnerOptions): AccountRunner {
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
    progress,
    get pressure() {
      // A client is made when it is asked for: thousands that nobody used are not worth their memory.
      if (!hasAsked) return null;
      const { inFlight, waiting, concurrencyNow, coolingUntilMs } = account.api.pressure;
      return { inFlight, waiting, concurrencyNow, coolingUntilMs: coolingUntilMs ?? null };
    },
    async run(job) {
      const { stream, kind } = job;
      const permit = health.admit(stream);
      if (permit === undefined) {
        metrics.recordSkippedTick(account.id, stream, 'credentials_refused');
        log.debug({ stream }, `${stream}: not asked, the service refuses the credentials`);
        return [];
      }
      hasAsked = true;
      const result = await runStream(account.runContext(events), toRequest(job, clock));
      metrics.recordRun(account.id, kind, result);
      const { isTold, nextSyncs } = permit.end(result, kind);
      // That workers share the work is nothing to tell.
      const isTaken = result.outcome === 'skipped' && result.isTaken === true;
      logResult(account, result, { kind, isKnown: isTold || isTaken });
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
