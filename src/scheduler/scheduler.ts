/** Cron → jobs. One process does a job once at a time; between processes the lock in PostgreSQL decides. */
import cron, { type ScheduledTask } from 'node-cron';
import { type Clock, MINUTE_MS } from '../shared/time.ts';
import { STREAM_NAMES } from '../streams/index.ts';
import type { StreamName } from '../streams/stream.ts';

export type JobKind = 'sync' | 'reconcile';

export interface Job {
  readonly stream: StreamName;
  readonly kind: JobKind;
  /** When the schedule fired, on the monotonic clock. */
  readonly firedMs: number;
  /** ms from this firing to the next one of the schedule; null when it was not fired by one. */
  readonly periodMs: number | null;
}

export interface ScheduleOptions {
  readonly timezone: string;
  readonly clock: Clock;
  /** null: off. */
  readonly crons: Readonly<Record<StreamName, string | null>>;
  /** Full sweep of all streams; null: off. */
  readonly reconcileCron: string | null;
  /** Does a job; must not reject. */
  readonly run: (job: Job) => Promise<void>;
  /** A firing came while the stream was still being worked on here. */
  readonly onOverrun: (job: Job) => void;
  /** A firing came too late to be on time (the machine slept, the process was starved); it is made up for now. */
  readonly onMissed: (stream: StreamName, kind: JobKind) => void;
  /** This stream starts only when the others that are running here have ended. */
  readonly runsLast: (stream: StreamName) => boolean;
}

export interface NextRun {
  readonly stream: StreamName;
  readonly kind: JobKind;
  /** ms from now. */
  readonly inMs: number;
}

export interface Scheduler {
  /** Fires a stream now, as its schedule would. */
  fire(stream: StreamName): void;
  /** Fires a stream once in so many ms. */
  fireIn(stream: StreamName, ms: number): void;
  readonly running: readonly Job[];
  /** Soonest first. */
  nextRuns(): NextRun[];
  /** False when no schedule has been looked at for minutes: the process is up and does nothing. */
  isAlive(): boolean;
  /** No new firing from now on. */
  stop(): Promise<void>;
  /** Resolves when what is running has ended. */
  settled(): Promise<void>;
}

const HEARTBEAT_CRON = '*/10 * * * * *';
const DEAD_AFTER_MS = 3 * MINUTE_MS;

const keyOf = ({ kind, stream }: Pick<Job, 'kind' | 'stream'>): string => `${kind} ${stream}`;

export function startScheduler(options: ScheduleOptions): Scheduler {
  const { clock } = options;
  const running = new Map<string, { readonly job: Job; readonly done: Promise<void> }>();
  const timers = new Set<NodeJS.Timeout>();
  const tasks: { readonly stream: StreamName; readonly kind: JobKind; readonly task: ScheduledTask }[] = [];
  let isStopping = false;
  let beatMs = clock.monotonicMs();

  const othersOf = ({ kind, stream }: Job) =>
    [...running.values()]
      .filter(({ job }) => job.kind === kind && job.stream !== stream && !options.runsLast(job.stream))
      .map(({ done }) => done);

  const isBusy = ({ kind, stream }: Job): boolean =>
    running.has(keyOf({ kind, stream })) ||
    // A sweep brings what a sync would; the other way round the sweep waits for the stream's lock.
    (kind === 'sync' && running.has(keyOf({ kind: 'reconcile', stream })));

  const fireJob = (job: Job): void => {
    if (isStopping) return;
    if (isBusy(job)) {
      options.onOverrun(job);
      return;
    }
    const work = async (): Promise<void> => {
      // Firings of one minute come one after the other: let all of them begin first.
      await new Promise((resolve) => setImmediate(resolve));
      if (options.runsLast(job.stream)) await Promise.all(othersOf(job));
      if (!isStopping) await options.run(job);
    };
    const done = work().finally(() => running.delete(keyOf(job)));
    running.set(keyOf(job), { job, done });
  };

  const fire = (stream: StreamName, kind: JobKind = 'sync', periodMs: number | null = null): void =>
    fireJob({ stream, kind, firedMs: clock.monotonicMs(), periodMs });

  const schedule = (stream: StreamName, kind: JobKind, expression: string | null): void => {
    if (expression === null) return;
    const task = cron.schedule(expression, () => fire(stream, kind, task.msToNext()), {
      timezone: options.timezone,
      name: keyOf({ stream, kind }),
      suppressMissedWarning: true,
    });
    task.on('execution:missed', () => {
      if (isStopping) return;
      options.onMissed(stream, kind);
      fire(stream, kind);
    });
    tasks.push({ stream, kind, task });
  };

  for (const stream of STREAM_NAMES) {
    schedule(stream, 'sync', options.crons[stream]);
    schedule(stream, 'reconcile', options.reconcileCron);
  }
  const heartbeat = cron.schedule(HEARTBEAT_CRON, () => void (beatMs = clock.monotonicMs()), {
    name: 'heartbeat',
    suppressMissedWarning: true,
  });

  return {
    fire: (stream) => fire(stream),
    fireIn(stream, ms) {
      if (isStopping) return;
      const timer = setTimeout(() => {
        timers.delete(timer);
        fire(stream);
      }, ms);
      timers.add(timer);
    },
    get running() {
      return [...running.values()].map(({ job }) => job);
    },
    nextRuns: () =>
      tasks
        .flatMap(({ stream, kind, task }) => {
          const inMs = task.msToNext();
          return inMs === null ? [] : [{ stream, kind, inMs }];
        })
        .sort((one, other) => one.inMs - other.inMs),
    isAlive: () => clock.monotonicMs() - beatMs < DEAD_AFTER_MS,
    async stop() {
      isStopping = true;
      for (const timer of timers) clearTimeout(timer);
      timers.clear();
      await Promise.all(
        [heartbeat, ...tasks.map(({ task }) => task)].map(async (task) => await task.destroy()),
      );
    },
    async settled() {
      await Promise.all([...running.values()].map(({ done }) => done));
    },
  };
}
