/**
 * Limits concurrent runs, because each holds a database session. Waiting runs get slots in rotation by account, so that an
 * account with many runs does not delay the others.
 *
 * An unhealthy account, whose service does not respond, uses no slot of the healthy ones: it has one run at a time, in a
 * separate lane. So there are at most twice as many runs as slots, and only during outages.
 */
import type { Clock } from '../../shared/time.ts';
import type { QueueStatus } from '../status/status.ts';

interface Lane {
  running: number;
  /** Accounts with waiting runs, in order of their turns. */
  readonly turns: Set<AccountQueue>;
}

/** The queue of one account. */
interface AccountQueue {
  lane: Lane;
  running: number;
  readonly waiting: { readonly sinceMs: number; readonly begin: () => void }[];
}

export type RunQueue = ReturnType<typeof createRunQueue>;

export function createRunQueue({ slots, clock }: { readonly slots: number; readonly clock: Clock }) {
  const queues = new Map<string, AccountQueue>();
  const healthy: Lane = { running: 0, turns: new Set() };
  const unhealthy: Lane = { running: 0, turns: new Set() };

  function queueOf(accountId: string): AccountQueue {
    const queue = queues.get(accountId) ?? { lane: healthy, running: 0, waiting: [] };
    queues.set(accountId, queue);
    return queue;
  }

  const hasSlot = (lane: Lane): boolean =>
    lane.running < slots && healthy.running + unhealthy.running < 2 * slots;

  function begin(queue: AccountQueue): void {
    const { lane, waiting } = queue;
    lane.turns.delete(queue);
    const next = waiting.shift();
    // An account with more runs goes to the end of the rotation.
    if (waiting.length > 0) lane.turns.add(queue);
    queue.running += 1;
    lane.running += 1;
    next?.begin();
  }

  function beginWhatMay(): void {
    for (const queue of healthy.turns) {
      if (!hasSlot(healthy)) break;
      begin(queue);
    }
    for (const queue of unhealthy.turns) {
      if (!hasSlot(unhealthy)) break;
      if (queue.running === 0) begin(queue);
    }
  }

  return {
    /** Runs `work` when the account gets a slot. */
    async run<T>(accountId: string, work: () => Promise<T>): Promise<T> {
      const queue = queueOf(accountId);
      await new Promise<void>((resolve) => {
        queue.waiting.push({ sinceMs: clock.monotonicMs(), begin: resolve });
        queue.lane.turns.add(queue);
        beginWhatMay();
      });
      try {
        return await work();
      } finally {
        queue.running -= 1;
        queue.lane.running -= 1;
        beginWhatMay();
      }
    },
    /** Sets the health of an account; default: healthy. */
    setHealth(accountId: string, isHealthy: boolean) {
      const queue = queueOf(accountId);
      const lane = isHealthy ? healthy : unhealthy;
      if (queue.lane === lane) return;
      queue.lane.running -= queue.running;
      lane.running += queue.running;
      if (queue.lane.turns.delete(queue)) lane.turns.add(queue);
      queue.lane = lane;
      beginWhatMay();
    },
    get load(): QueueStatus {
      const busy = [...healthy.turns, ...unhealthy.turns];
      const oldestMs = busy.reduce((ms, { waiting }) => Math.min(ms, waiting[0]?.sinceMs ?? ms), Infinity);
      return {
        slots,
        running: healthy.running + unhealthy.running,
        unhealthy: unhealthy.running,
        waiting: busy.reduce((sum, { waiting }) => sum + waiting.length, 0),
        longestWaitMs: busy.length === 0 ? 0 : Math.round(clock.monotonicMs() - oldestMs),
      };
    },
  };
}
