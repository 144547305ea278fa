/** Cron → jobs. One process does a job once at a time; between processes the lock in PostgreSQL decides. */
import { type Clock, MINUTE_MS } from '../shared/time.ts';
import { STREAM_NAMES } from '../streams/index.ts';
import type { StreamName } from '../streams/stream.ts';
import { type CronEntry, startCronGroups } from './cron-groups.ts';
import { createRunQueue, type QueueLoad } from './run-queue.ts';

export type JobKind = 'sync' | 'reconcile';

export interface Job {
  readonly accountId: string;
  readonly stream: StreamName;
  readonly kind: JobKind;
  /** When the schedule fired, on the monotonic clock. */
  readonly firedMs: number;
  /** ms from this firing to the next one of the schedule; null when it was not fired by one. */
  readonly periodMs: number | null;
}

export type JobTarget = Pick<Job, 'accountId' | 'stream' | 'kind'>;

export interface AccountSchedule {
  readonly accountId: string;
  readonly timezone: string;
  /** null: off. */
  readonly streams: Readonly<Record<StreamName, string | null>>;
  /** Full sweep of all streams but those that are off; null: off. */
  readonly reconcile: string | null;
  /** Streams for which nothing is fired, whatever the schedules say. */
  readonly off?: readonly StreamName[];
}

/** What a job that is not done yet is doing. */
export type JobState = 'waiting' | 'running';

export interface ScheduleOptions {
  readonly accounts: readonly AccountSchedule[];
  /** Over how long the accounts' firings are spread, ms. */
  readonly spreadMs: number;
  /** Most runs at once. */
  readonly slots: number;
  readonly clock: Clock;
  /** Does a job; must not reject. */
  readonly run: (job: Job) => Promise<void>;
  /** A firing came while the stream was still being worked on here, or waited for a place. */
  readonly onOverrun: (job: Job, state: JobState) => void;
  /** A firing came too late to be on time (the machine slept, the process was starved); it is made up for now. */
  readonly onMissed: (target: JobTarget) => void;
  /** This stream starts only when the others of its account that are running here have ended. */
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
  fire(accountId: string, stream: StreamName): void;
  /** Fires a stream once in so many ms; when it is being worked on then, as soon as that is done. */
  fireIn(accountId: string, stream: StreamName, ms: number): void;
  /** Tells whether an account's service answers: see the run queue. */
  noteHealth(accountId: string, isWell: boolean): void;
  readonly load: QueueLoad;
  /** Jobs that are not done yet. */
  readonly open: readonly JobTarget[];
  /** Of one account, soonest first. */
  nextRuns(accountId: string): NextRun[];
  /** False when no schedule has been looked at for minutes: the process is up and does nothing. */
  isAlive(): boolean;
  /** No new firing from now on. */
  stop(): Promise<void>;
  /** Resolves when what is running has ended. */
  settled(): Promise<void>;
}

const DEAD_AFTER_MS = 3 * MINUTE_MS;

interface OpenJob {
  readonly job: Job;
  state: JobState;
  done: Promise<void>;
}

const keyOf = ({ kind, stream }: Pick<Job, 'kind' | 'stream'>): string => `${kind} ${stream}`;

function toEntries(accounts: readonly AccountSchedule[]): CronEntry<JobTarget>[] {
  return accounts.flatMap(({ accountId, timezone, streams, reconcile, off = [] }) =>
    STREAM_NAMES.filter((stream) => !off.includes(stream)).flatMap((stream) =>
      (['sync', 'reconcile'] as const).flatMap((kind) => {
        const expression = kind === 'sync' ? (streams[stream] ?? null) : reconcile;
        return expression === null
          ? []
          : [{ accountId, target: { accountId, stream, kind }, timezone, expression }];
      }),
    ),
  );
}

export function startScheduler(options: ScheduleOptions): Scheduler {
  const { clock } = options;
  const open = new Map<string, Map<string, OpenJob>>();
  const timers = new Set<NodeJS.Timeout>();
  const queue = createRunQueue({ slots: options.slots, clock });
  let isStopping = false;

  const openJobs = (): OpenJob[] => [...open.values()].flatMap((jobs) => [...jobs.values()]);

  const othersOf = ({ accountId, kind, stream }: Job) =>
    [...(open.get(accountId)?.values() ?? [])]
      .filter(({ job }) => job.kind === kind && job.stream !== stream && !options.runsLast(job.stream))
      .map(({ done }) => done);

  const busyWith = ({ accountId, kind, stream }: JobTarget): OpenJob | undefined => {
    const jobs = open.get(accountId);
    // A sweep brings what a sync would; the other way round the sweep waits for the stream's lock.
    const sweep = kind === 'sync' ? jobs?.get(keyOf({ kind: 'reconcile', stream })) : undefined;
    return jobs?.get(keyOf({ kind, stream })) ?? sweep;
  };

  const forget = ({ accountId, ...job }: Job): void => {
    const jobs = open.get(accountId);
    jobs?.delete(keyOf(job));
    if (jobs?.size === 0) open.delete(accountId);
  };

  const fireJob = (job: Job): void => {
    if (isStopping) return;
    const busy = busyWith(job);
    if (busy !== undefined) {
      options.onOverrun(job, busy.state);
      return;
    }
    const entry: OpenJob = { job, state: 'waiting', done: Promise.resolve() };
    const work = async (): Promise<void> => {
      // Firings of one minute come one after the other: let all of them begin first.
      await new Promise((resolve) => setImmediate(resolve));
      if (options.runsLast(job.stream)) await Promise.all(othersOf(job));
      await queue.run(job.accountId, async () => {
        entry.state = 'running';
        if (!isStopping) await options.run(job);
      });
    };
    entry.done = work().finally(() => forget(job));
    const jobs = open.get(job.accountId) ?? new Map<string, OpenJob>();
    jobs.set(keyOf(job), entry);
    open.set(job.accountId, jobs);
  };

  const fire = (target: JobTarget, periodMs: number | null = null): void =>
    fireJob({ ...target, firedMs: clock.monotonicMs(), periodMs });

  const groups = startCronGroups<JobTarget>({
    entries: toEntries(options.accounts),
    spreadMs: options.spreadMs,
    clock,
    fire,
    onMissed: (target) => {
      if (!isStopping) options.onMissed(target);
    },
  });

  return {
    fire: (accountId, stream) => fire({ accountId, stream, kind: 'sync' }),
    fireIn(accountId, stream, ms) {
      if (isStopping) return;
      const timer = setTimeout(() => {
        timers.delete(timer);
        const target = { accountId, stream, kind: 'sync' } as const;
        const busy = busyWith(target);
        if (busy === undefined) fire(target);
        // Whoever asks for it counts on it: it must not be lost to a run that happens to be under way.
        else void busy.done.then(() => fire(target));
      }, ms);
      timers.add(timer);
    },
    noteHealth: (accountId, isWell) => queue.noteHealth(accountId, isWell),
    get load() {
      return queue.load;
    },
    get open() {
      return openJobs().map(({ job }) => job);
    },
    nextRuns: (accountId) =>
      groups
        .next(accountId)
        .map(({ target: { stream, kind }, inMs }) => ({ stream, kind, inMs }))
        .sort((one, other) => one.inMs - other.inMs),
    isAlive: () => clock.monotonicMs() - groups.lookedMs < DEAD_AFTER_MS,
    async stop() {
      isStopping = true;
      for (const timer of timers) clearTimeout(timer);
      timers.clear();
      await groups.stop();
    },
    async settled() {
      await Promise.all(openJobs().map(({ done }) => done));
    },
  };
}
