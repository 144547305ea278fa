/** Turns ticks into jobs. A process runs each job once at a time; between processes the lock in PostgreSQL decides. */
import cron, { type ScheduledTask } from 'node-cron';
import pLimit from 'p-limit';
import type { ScheduleConfig } from '../../config/account-config.ts';
import { SECOND_MS, sleep } from '../../shared/time.ts';
import { runsLast, STREAM_NAMES } from '../../engine/streams/index.ts';
import type { StreamName } from '../../engine/streams/stream.ts';
import type { NextSync } from './account-health.ts';

/** The work that a tick starts. */
export interface Job {
  readonly accountId: string;
  readonly stream: StreamName;
  readonly kind: 'sync' | 'reconcile';
}

interface SchedulerOptions {
  readonly accounts: readonly {
    readonly id: string;
    readonly config: { readonly schedule: ScheduleConfig };
  }[];
  /** Most runs at once, because each holds a database session. */
  readonly slots: number;
  /** Runs a job and returns the syncs that should follow; must not reject. */
  readonly run: (job: Job) => Promise<readonly NextSync[]>;
  /** Called when a tick finds its job unfinished. */
  readonly onSkippedTick: (job: Job) => void;
}

/** Several accounts begin at different moments of a tick. */
const SPREAD_MS = 30 * SECOND_MS;

const jobKey = ({ accountId, kind, stream }: Job): string => JSON.stringify([accountId, kind, stream]);

export type Scheduler = ReturnType<typeof createScheduler>;

export function createScheduler({ accounts, slots, run, onSkippedTick }: SchedulerOptions) {
  const limit = pLimit(slots);
  const stopping = new AbortController();
  const { signal } = stopping;
  const open = new Map<string, { readonly job: Job; done: Promise<void> }>();
  let schedules: { readonly task: ScheduledTask; readonly job: Job }[] = [];

  async function work(job: Job): Promise<void> {
    const { accountId } = job;
    // The other jobs of a tick are triggered right after this one.
    await Promise.resolve();
    const others = runsLast(job.stream) ? STREAM_NAMES.filter((stream) => !runsLast(stream)) : [];
    const earlier: readonly Job[] = [
      ...others.map((stream) => ({ ...job, stream })),
      // A scheduled run does not wait for the stream's lock, which its own sync holds before.
      ...(job.kind === 'reconcile' ? [{ ...job, kind: 'sync' as const }] : []),
    ];
    await Promise.all(earlier.flatMap((one) => open.get(jobKey(one))?.done ?? []));
    const nextSyncs = await limit(async () => (signal.aborted ? [] : await run(job)));
    for (const { stream, inMs } of nextSyncs)
      void sleep(inMs, signal).then(() => trigger({ accountId, stream, kind: 'sync' }));
  }

  /** Starts a job now; false: it is unfinished. A run under way then does the work. */
  function trigger(job: Job): boolean {
    if (signal.aborted) return true;
    // A reconcile includes a sync; during a sync, a reconcile waits.
    if (open.has(jobKey(job)) || open.has(jobKey({ ...job, kind: 'reconcile' }))) return false;
    const key = jobKey(job);
    const entry = { job, done: Promise.resolve() };
    open.set(key, entry);
    entry.done = work(job).finally(() => open.delete(key));
    return true;
  }

  return {
    trigger,
    /** Starts the schedules. A stream with its sync schedule off is still reconciled. */
    start(): void {
      // However late a tick is, for example after a sleep of the machine, the newest one runs.
      const late = { missedExecutionTolerance: Infinity, suppressMissedWarning: true };
      schedules = accounts.flatMap(({ id: accountId, config: { schedule } }) => {
        const delayMs = accounts.length === 1 ? 0 : Math.random() * SPREAD_MS;
        return STREAM_NAMES.flatMap((stream) =>
          (['sync', 'reconcile'] as const).flatMap((kind) => {
            const expression = kind === 'sync' ? schedule.streams[stream] : schedule.reconcile;
            if (expression == null) return [];
            const job = { accountId, stream, kind };
            const begin = (): void => {
              if (!trigger(job)) onSkippedTick(job);
            };
            const onTick = (): void => (delayMs === 0 ? begin() : void sleep(delayMs, signal).then(begin));
            return [
              { task: cron.schedule(expression, onTick, { timezone: schedule.timezone, ...late }), job },
            ];
          }),
        );
      });
    },
    /** Unfinished jobs. */
    get open(): readonly Job[] {
      return [...open.values()].map(({ job }) => job);
    },
    /** Next runs of one account, in ms from now, soonest first. */
    nextRuns: (accountId: string) =>
      schedules
        .filter(({ job }) => job.accountId === accountId)
        .map(({ task, job: { stream, kind } }) => ({ stream, kind, inMs: task.msToNext() ?? 0 }))
        .toSorted((one, other) => one.inMs - other.inMs),
    /** Starts no more jobs. */
    async stop(): Promise<void> {
      stopping.abort();
      await Promise.all(schedules.map(async ({ task }) => await task.destroy()));
    },
    /** Resolves when no job is running. */
    async idle(): Promise<void> {
      await Promise.all([...open.values()].map(({ done }) => done));
    },
  };
}
