/** Turns ticks into jobs. A process runs each job once at a time; between processes the lock in PostgreSQL decides. */
import type { OffReasons, ScheduleConfig } from '../../config/account-config.ts';
import type { NextSync } from '../health/account-health.ts';
import { type Clock, MINUTE_MS } from '../../shared/time.ts';
import { STREAM_NAMES, streamNamed } from '../../engine/streams/index.ts';
import type { StreamName } from '../../engine/streams/stream.ts';
import { type CronEntry, type JobTarget, startCronGroups } from './cron-groups.ts';
import type { RunQueue } from './run-queue.ts';

export interface Job extends JobTarget {
  /** By the monotonic clock. */
  readonly triggeredMs: number;
  /** ms from this tick to the next one; null: not triggered by a schedule. */
  readonly periodMs: number | null;
}

export interface ScheduledAccount {
  readonly id: string;
  readonly offReasons: OffReasons;
  readonly config: { readonly schedule: ScheduleConfig };
}

interface ScheduleOptions {
  readonly accounts: readonly ScheduledAccount[];
  /** Period over which ticks are staggered, ms. */
  readonly spreadMs: number;
  readonly queue: RunQueue;
  readonly clock: Clock;
  /** Runs a job and returns the syncs that should follow; must not reject. */
  readonly run: (job: Job) => Promise<readonly NextSync[]>;
  /**
   * Called when a tick finds its job still running or waiting for a slot, or when it was missed (the machine slept, or the
   * process got no processor time), in which case the job runs now.
   */
  readonly onSkippedTick: (target: JobTarget, why: 'running' | 'waiting' | 'missed') => void;
}

const DEAD_AFTER_MS = 3 * MINUTE_MS;

interface OpenJob {
  readonly job: Job;
  state: 'waiting' | 'running';
  done: Promise<void>;
}

const jobKey = ({ accountId, kind, stream }: JobTarget): string => JSON.stringify([accountId, kind, stream]);

/** A stream with its sync schedule off is still reconciled. */
export function cronEntriesOf(accounts: readonly ScheduledAccount[]): CronEntry[] {
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

export function createScheduler(options: ScheduleOptions) {
  const { clock, queue } = options;
  const open = new Map<string, OpenJob>();
  const timers = new Set<NodeJS.Timeout>();
  let groups: ReturnType<typeof startCronGroups> | undefined;
  let isStopping = false;

  /** Running jobs of the same kind and account that must end before this one. */
  const firstOf = (job: Job): Promise<void>[] =>
    STREAM_NAMES.filter((stream) => !runsLast(stream)).flatMap(
      (stream) => open.get(jobKey({ ...job, stream }))?.done ?? [],
    );

  function busyWith(target: JobTarget): OpenJob | undefined {
    // A reconcile includes a sync; during a sync, a reconcile waits for the stream's lock.
    return open.get(jobKey(target)) ?? open.get(jobKey({ ...target, kind: 'reconcile' }));
  }

  async function work(entry: OpenJob): Promise<void> {
    const { job } = entry;
    // Ticks of one minute arrive one after the other: all of their jobs are registered first.
    await new Promise((resolve) => setImmediate(resolve));
    if (runsLast(job.stream)) await Promise.all(firstOf(job));
    const nextSyncs = await queue.run(job.accountId, async () => {
      entry.state = 'running';
      return isStopping ? [] : await options.run(job);
    });
    for (const next of nextSyncs) follow(job.accountId, next);
  }

  function trigger(target: JobTarget, periodMs: number | null = null): void {
    if (isStopping) return;
    const job = { ...target, triggeredMs: clock.monotonicMs(), periodMs };
    const busy = busyWith(job);
    if (busy !== undefined) {
      options.onSkippedTick(job, busy.state);
      return;
    }
    const entry: OpenJob = { job, state: 'waiting', done: Promise.resolve() };
    entry.done = work(entry).finally(() => open.delete(jobKey(job)));
    open.set(jobKey(job), entry);
  }

  function follow(accountId: string, { stream, inMs }: NextSync): void {
    if (isStopping) return;
    const target = { accountId, stream, kind: 'sync' } as const;
    if (inMs === 0) {
      trigger(target);
      return;
    }
    const timer = setTimeout(() => {
      timers.delete(timer);
      const busy = busyWith(target);
      if (busy === undefined) trigger(target);
      // A follow-up sync must not be dropped, so it waits for a running one.
      else void busy.done.then(() => trigger(target));
    }, inMs);
    timers.add(timer);
  }

  return {
    /** Starts the schedules. */
    start() {
      groups = startCronGroups({
        entries: cronEntriesOf(options.accounts),
        spreadMs: options.spreadMs,
        clock,
        onTick: trigger,
        onMissed: (target) => {
          if (!isStopping) options.onSkippedTick(target, 'missed');
        },
      });
    },
    /** Starts a sync now, unless one waits or is running. */
    trigger(accountId: string, stream: StreamName) {
      const target = { accountId, stream, kind: 'sync' } as const;
      if (busyWith(target) === undefined) trigger(target);
    },
    /** Unfinished jobs. */
    get open(): readonly JobTarget[] {
      return [...open.values()].map(({ job }) => job);
    },
    /** Next runs of one account, in ms from now. */
    nextRuns: (accountId: string) => groups?.next(accountId) ?? [],
    /** False when the schedules have not been compared with the clock for minutes, although the process is up. */
    isAlive: () => groups === undefined || clock.monotonicMs() - groups.lookedMs < DEAD_AFTER_MS,
    /** Starts no more jobs. */
    async stop() {
      isStopping = true;
      for (const timer of timers) clearTimeout(timer);
      timers.clear();
      await groups?.stop();
    },
    /** Resolves when no job is running. */
    async idle() {
      await Promise.all([...open.values()].map(({ done }) => done));
    },
  };
}
