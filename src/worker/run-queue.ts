/**
 * Limits concurrent runs, because each holds a database session. Waiting runs get slots in rotation by account, so that an
 * account with many runs does not delay the others.
 *
 * An unhealthy account, whose service does not respond, uses no slot of the healthy ones: it has one run at a time, in a
 * separate lane. So there are at most twice as many runs as slots, and only during outages.
 */
import type { Clock } from '../shared/time.ts';

export interface RunQueue {
  /** Runs `work` when the account gets a slot. */
  run<T>(accountId: string, work: () => Promise<T>): Promise<T>;
  /** Accounts are healthy until this is called. */
  setHealth(accountId: string, isHealthy: boolean): void;
  readonly load: QueueLoad;
}

interface QueueLoad {
  readonly slots: number;
  readonly running: number;
  /** Running runs of unhealthy accounts. */
  readonly unhealthy: number;
  readonly waiting: number;
  /** Longest time that a waiting run has waited, ms; 0 when none waits. */
  readonly longestWaitMs: number;
}

interface Lane {
  running: number;
  /** Accounts with waiting runs, in order of their turns. */
  readonly turns: Set<Line>;
}

/** The queue of one account. */
interface Line {
  lane: Lane;
  running: number;
  readonly waiting: { readonly sinceMs: number; readonly begin: () => void }[];
}

export function createRunQueue({
  slots,
  clock,
}: {
  readonly slots: number;
  readonly clock: Clock;
}): RunQueue {
  const lines = new Map<string, Line>();
  const healthy: Lane = { running: 0, turns: new Set() };
  const unhealthy: Lane = { running: 0, turns: new Set() };

  function lineOf(accountId: string): Line {
    const line = lines.get(accountId) ?? { lane: healthy, running: 0, waiting: [] };
    lines.set(accountId, line);
    return line;
  }

  const hasSlot = (lane: Lane): boolean =>
    lane.running < slots && healthy.running + unhealthy.running < 2 * slots;

  function begin(line: Line): void {
    const { lane, waiting } = line;
    lane.turns.delete(line);
    const next = waiting.shift();
    // An account with more runs goes to the end of the rotation.
    if (waiting.length > 0) lane.turns.add(line);
    line.running += 1;
    lane.running += 1;
    next?.begin();
  }

  function beginWhatMay(): void {
    for (const line of healthy.turns) {
      if (!hasSlot(healthy)) break;
      begin(line);
    }
    for (const line of unhealthy.turns) {
      if (!hasSlot(unhealthy)) break;
      if (line.running === 0) begin(line);
    }
  }

  return {
    async run(accountId, work) {
      const line = lineOf(accountId);
      await new Promise<void>((resolve) => {
        line.waiting.push({ sinceMs: clock.monotonicMs(), begin: resolve });
        line.lane.turns.add(line);
        beginWhatMay();
      });
      try {
        return await work();
      } finally {
        line.running -= 1;
        line.lane.running -= 1;
        beginWhatMay();
      }
    },
    setHealth(accountId, isHealthy) {
      const line = lineOf(accountId);
      const lane = isHealthy ? healthy : unhealthy;
      if (line.lane === lane) return;
      line.lane.running -= line.running;
      lane.running += line.running;
      if (line.lane.turns.delete(line)) lane.turns.add(line);
      line.lane = lane;
      beginWhatMay();
    },
    get load() {
      const lined = [...healthy.turns, ...unhealthy.turns];
      const oldestMs = lined.reduce((ms, { waiting }) => Math.min(ms, waiting[0]?.sinceMs ?? ms), Infinity);
      return {
        slots,
        running: healthy.running + unhealthy.running,
        unhealthy: unhealthy.running,
        waiting: lined.reduce((sum, { waiting }) => sum + waiting.length, 0),
        longestWaitMs: lined.length === 0 ? 0 : clock.monotonicMs() - oldestMs,
      };
    },
  };
}
