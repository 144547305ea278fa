/**
 * Bounds how many runs a process has under way, because each holds a database session. Waiting runs get their slot account
 * by account in turn, so that one account with much to do does not hold up the others.
 *
 * An unhealthy account, whose service does not respond, holds no slot of the healthy ones: it has one run at a time, in a
 * lane of its own. So there are at most twice as many runs as slots, and that only while services are away.
 */
import type { Clock } from '../shared/time.ts';

export interface RunQueue {
  /** Does the work when it is this account's turn. */
  run<T>(accountId: string, work: () => Promise<T>): Promise<T>;
  /** Until this is told otherwise an account is healthy. */
  setHealth(accountId: string, isHealthy: boolean): void;
  readonly load: QueueLoad;
}

interface QueueLoad {
  readonly slots: number;
  readonly running: number;
  /** Of those that run, the ones of unhealthy accounts. */
  readonly unhealthy: number;
  readonly waiting: number;
  /** How long the run that has waited longest has waited, ms; 0 when none waits. */
  readonly longestWaitMs: number;
}

interface Lane {
  running: number;
  /** Accounts with something waiting, next one first. */
  readonly turns: Set<Line>;
}

/** Of one account. */
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
    // To the end of the accounts, when it has more.
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
