/** Cron → runs. One process runs a stream once at a time; between processes the lock in PostgreSQL decides. */
import cron, { type ScheduledTask } from 'node-cron';
import type { StreamName } from '../streams/stream.ts';

export interface ScheduleOptions {
  readonly timezone: string;
  /** null: off. */
  readonly crons: Readonly<Record<StreamName, string | null>>;
  /** Runs a stream; must not reject. */
  readonly run: (stream: StreamName) => Promise<void>;
  /** A firing came while the stream was still running here. */
  readonly onOverrun: (stream: StreamName) => void;
  /** This stream starts only when the others that are running here have ended. */
  readonly runsLast: (stream: StreamName) => boolean;
}

export interface Scheduler {
  /** Fires a stream now, as its schedule would. */
  fire(stream: StreamName): void;
  /** No new firing; resolves when what is running has ended. */
  stop(): Promise<void>;
}

export function startScheduler(options: ScheduleOptions): Scheduler {
  const running = new Map<StreamName, Promise<void>>();
  let isStopping = false;

  const othersOf = (stream: StreamName) =>
    [...running].filter(([other]) => other !== stream && !options.runsLast(other)).map(([, run]) => run);

  const fire = (stream: StreamName): void => {
    if (isStopping) return;
    if (running.has(stream)) {
      options.onOverrun(stream);
      return;
    }
    const work = async (): Promise<void> => {
      // Firings of one minute come one after the other: let all of them begin first.
      await new Promise((resolve) => setImmediate(resolve));
      if (options.runsLast(stream)) await Promise.all(othersOf(stream));
      if (!isStopping) await options.run(stream);
    };
    const run = work().finally(() => running.delete(stream));
    running.set(stream, run);
  };

  const tasks: ScheduledTask[] = [];
  for (const [stream, expression] of Object.entries(options.crons) as [StreamName, string | null][]) {
    if (expression === null) continue;
    tasks.push(cron.schedule(expression, () => fire(stream), { timezone: options.timezone, name: stream }));
  }
  return {
    fire,
    async stop() {
      isStopping = true;
      await Promise.all(tasks.map(async (task) => await task.destroy()));
      await Promise.all(running.values());
    },
  };
}
