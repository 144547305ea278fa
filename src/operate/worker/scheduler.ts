/** Turns ticks into jobs. A process runs each job once at a time; between processes the lock in PostgreSQL decides. */
import { hash } from 'node:crypto';
import cron, { type ScheduledTask } from 'node-cron';
import pLimit from 'p-limit';
import type { OffReasons, ScheduleConfig } from '../../config/account-config.ts';
import { groupBy } from '../../shared/group-by.ts';
import { type Clock, SECOND_MS, sleep } from '../../shared/time.ts';
import { STREAM_NAMES, streamNamed } from '../../engine/streams/index.ts';
import type { StreamName } from '../../engine/streams/stream.ts';
import type { NextSync } from '../health/account-health.ts';

/** The work that a tick starts. */
export interface JobTarget {
  readonly accountId: string;
  readonly stream: StreamName;
  readonly kind: 'sync' | 'reconcile';
}

export interface Job extends JobTarget {
  /** By the monotonic clock. */
  readonly triggeredMs: number;
}

interface CronEntry {
  readonly target: JobTarget;
  readonly timezone: string;
  readonly expression: string;
}

interface ScheduledAccount {
  readonly id: string;
  readonly offReasons: OffReasons;
  readonly config: { readonly schedule: ScheduleConfig };
}

interface ScheduleOptions {
  readonly accounts: readonly ScheduledAccount[];
  /** Most runs at once, because each holds a database session. */
  readonly slots: number;
  readonly clock: Clock;
  /** Runs a job and returns the syncs that should follow; must not reject. */
  readonly run: (job: Job) => Promise<readonly NextSync[]>;
  /** Called when a tick finds its job still running, or waiting for a slot. */
  readonly onSkippedTick: (target: JobTarget, why: 'running' | 'waiting') => void;
}

/** Several accounts begin at different moments of a tick. */
const SPREAD_MS = 30 * SECOND_MS;

interface OpenJob {
  readonly job: Job;
  isRunning: boolean;
  done: Promise<void>;
}

const jobKey = ({ accountId, kind, stream }: JobTarget): string => JSON.stringify([accountId, kind, stream]);

/** A stream with its sync schedule off is still reconciled. */
function cronEntriesOf(accounts: readonly ScheduledAccount[]): CronEntry[] {
  return accounts.flatMap(({ id: accountId, config: { schedule } }) =>
    STREAM_NAMES.flatMap((stream) =>
      (['sync', 'reconcile'] as const).flatMap((kind) => {
        const expression = kind === 'sync' ? schedule.streams[stream] : schedule.reconcile;
        if (expression == null) return [];
        return [{ target: { accountId, stream, kind }, timezone: schedule.timezone, expression }];
      }),
    ),
  );
}

/** Whether this stream starts only after the account's other running streams have ended. */
const runsLast = (stream: StreamName): boolean => streamNamed(stream).readMode.kind === 'people';

export type Scheduler = ReturnType<typeof createScheduler>;

export function createScheduler({ accounts, slots, clock, run, onSkippedTick }: ScheduleOptions) {
  const limit = pLimit(slots);
  const stopping = new AbortController();
  const { signal } = stopping;
  const open = new Map<string, OpenJob>();
  let schedules: { readonly task: ScheduledTask; readonly targets: readonly JobTarget[] }[] = [];

  /** Made of the name, so that replicas agree and each account has equal periods. */
  const delayOf = (accountId: string): number =>
    accounts.length === 1 ? 0 : (parseInt(hash('sha256', accountId).slice(0, 8), 16) / 2 ** 32) * SPREAD_MS;

  /** Running jobs of the same kind and account that must end before this one. */
  const firstOf = (job: Job): Promise<void>[] =>
    STREAM_NAMES.filter((stream) => !runsLast(stream)).flatMap(
      (stream) => open.get(jobKey({ ...job, stream }))?.done ?? [],
    );

  async function work(entry: OpenJob): Promise<void> {
    const { job } = entry;
    const { accountId } = job;
    // The other jobs of a tick are triggered right after this one.
    await Promise.resolve();
    if (runsLast(job.stream)) await Promise.all(firstOf(job));
    const nextSyncs = await limit(async () => {
      entry.isRunning = true;
      return signal.aborted ? [] : await run(job);
    });
    for (const { stream, inMs } of nextSyncs) triggerIn(inMs, { accountId, stream, kind: 'sync' });
  }

  function trigger(target: JobTarget, onBusy?: (busy: OpenJob) => void): void {
    if (signal.aborted) return;
    // A reconcile includes a sync; during a sync, a reconcile waits for the stream's lock.
    const busy = open.get(jobKey(target)) ?? open.get(jobKey({ ...target, kind: 'reconcile' }));
    if (busy !== undefined) {
      onBusy?.(busy);
      return;
    }
    const job = { ...target, triggeredMs: clock.monotonicMs() };
    const entry: OpenJob = { job, isRunning: false, done: Promise.resolve() };
    entry.done = work(entry).finally(() => open.delete(jobKey(job)));
    open.set(jobKey(job), entry);
  }

  /** A run under way then does the work. */
  const triggerIn = (ms: number, target: JobTarget): void =>
    void sleep(ms, signal).then(() => trigger(target));

  async function tick(target: JobTarget): Promise<void> {
    await sleep(delayOf(target.accountId), signal);
    trigger(target, ({ isRunning }) => onSkippedTick(target, isRunning ? 'running' : 'waiting'));
  }

  return {
    /** Starts the schedules. */
    start() {
      const alike = groupBy(cronEntriesOf(accounts), (one) => JSON.stringify([one.expression, one.timezone]));
      schedules = alike.map((entries) => {
        const [{ expression, timezone }] = entries;
        const targets = entries.map(({ target }) => target);
        // However late a tick is, for example after a sleep of the machine, the newest one runs.
        const late = { missedExecutionTolerance: Infinity, suppressMissedWarning: true };
        const task = cron.schedule(expression, () => void targets.map(tick), { timezone, ...late });
        return { task, targets };
      });
    },
    /** Starts a job now, unless it waits or is running. */
    trigger: (target: JobTarget) => trigger(target),
    /** Unfinished jobs. */
    get open(): readonly JobTarget[] {
      return [...open.values()].map(({ job }) => job);
    },
    get load() {
      return { slots, running: limit.activeCount, waiting: limit.pendingCount };
    },
    /** Next runs of one account, in ms from now. */
    nextRuns: (accountId: string) =>
      schedules.flatMap(({ task, targets }) =>
        targets
          .filter((target) => target.accountId === accountId)
          .map((target) => ({ target, inMs: (task.msToNext() ?? 0) + delayOf(accountId) })),
      ),
    /** Starts no more jobs. */
    async stop() {
      stopping.abort();
      await Promise.all(schedules.map(async ({ task }) => await task.destroy()));
    },
    /** Resolves when no job is running. */
    async idle() {
      await Promise.all([...open.values()].map(({ done }) => done));
    },
  };
}
