/** One account in a worker: its gate, its progress, its jobs. What it does touches no other account. */
import type { Account } from '../app.ts';
import { type OffReasons, offReasonsOf } from '../config/account-config.ts';
import type { Metrics } from '../status/metrics.ts';
import { createCircuitBreaker, type OpenCircuit, type TrialDelays } from '../health/circuit-breaker.ts';
import { buildRunEvents } from './run-report.ts';
import type { PressureReport } from '../status/status.ts';
import type { Job, Scheduler } from './scheduler.ts';
import type { Clock } from '../shared/time.ts';
import { STREAM_NAMES } from '../streams/index.ts';
import type { StreamName } from '../streams/stream.ts';
import type { HistoryProgress } from '../reading/extract.ts';
import type { RunEvents } from '../sync/run.ts';
import { createJobs } from './run-jobs.ts';

export interface AccountRunner {
  readonly account: Account;
  readonly scheduled: readonly StreamName[];
  /** Of the other streams. */
  readonly offReasons: OffReasons;
  readonly openCircuits: readonly OpenCircuit[];
  /** Of runs of this process. */
  readonly progress: ReadonlyMap<StreamName, HistoryProgress>;
  /** null: its service was not asked by this process yet. */
  readonly pressure: PressureReport | null;
  run(job: Job): Promise<void>;
}

export interface AccountRunnerOptions {
  readonly account: Account;
  readonly clock: Clock;
  readonly metrics: Metrics;
  readonly trialDelays: TrialDelays | undefined;
  /** Database sessions of the runs under way, of all accounts. */
  readonly sessions: Set<number>;
  /** There before the first job. */
  readonly scheduler: () => Scheduler | undefined;
  /** Whether a service that does not answer makes its account wait behind others: not where there are none. */
  readonly isOneOfMany: boolean;
  readonly onChange: () => void;
  /** A run has stored something: the database answers. */
  readonly onStored: () => void;
}

export function createAccountRunner(options: AccountRunnerOptions): AccountRunner {
  const { account, clock, metrics, sessions, scheduler, onChange } = options;
  const offReasons = offReasonsOf(account.config);
  const scheduled = STREAM_NAMES.filter((stream) => offReasons[stream] === undefined);
  const gate = createCircuitBreaker(clock, options.trialDelays);
  const progress = new Map<StreamName, HistoryProgress>();
  let hasAsked = false;

  const events: RunEvents = {
    ...buildRunEvents(account),
    onProgress: (stream, made) => void progress.set(stream, made),
    onSession: (_stream, pid) => {
      options.onStored();
      sessions.add(pid);
      onChange();
    },
    onSessionEnd: (stream, pid) => {
      sessions.delete(pid);
      progress.delete(stream);
    },
  };
  const noteHealth = (isWell: boolean): void => {
    if (options.isOneOfMany) scheduler()?.noteHealth(account.id, isWell);
  };
  account.watchRetries(() => noteHealth(false));
  const run = createJobs({
    account,
    clock,
    events,
    gate,
    metrics,
    scheduled,
    fire: (stream) => scheduler()?.fire(account.id, stream),
    fireIn: (stream, ms) => scheduler()?.fireIn(account.id, stream, ms),
    noteHealth,
    onEnd: onChange,
    onStored: options.onStored,
  });

  return {
    account,
    scheduled,
    offReasons,
    get openCircuits() {
      return gate.openCircuits;
    },
    progress,
    get pressure() {
      // A client is made when it is asked for: thousands that nobody used are not worth their memory.
      if (!hasAsked && options.isOneOfMany) return null;
      const { inFlight, waiting, concurrencyNow, coolingUntilMs } = account.api.pressure;
      return { inFlight, waiting, concurrencyNow, coolingUntilMs: coolingUntilMs ?? null };
    },
    async run(job) {
      hasAsked = true;
      await run(job);
    },
  };
}
