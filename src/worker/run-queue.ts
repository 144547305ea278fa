/**
 * Bounds how many runs a process has under way: each holds a database session. Who waits is served account by account
 * in turn, so that one with much to do does not stand before the others.
 *
 * An account whose service does not answer must not keep the slots of those with whom all is well: its runs are counted
 * apart, it has one at a time, and its slots are given to others meanwhile. So there are at most twice as many runs as
 * slots, and that only while services are away.
 */
import type { Clock } from '../shared/time.ts';

export interface RunQueue {
  /** Does the work when it is this account's turn. `onBegin` tells when that is. */
  run<T>(accountId: string, work: () => Promise<T>): Promise<T>;
  /** Whether the account's service answers; unknown accounts are taken for well. */
  noteHealth(accountId: string, isWell: boolean): void;
  readonly load: QueueLoad;
}

export interface QueueLoad {
  readonly slots: number;
  readonly running: number;
  /** Of those that run, the ones whose service does not answer. */
  readonly unhealthy: number;
  readonly waiting: number;
  /** How long the one that has waited longest has waited, ms; 0 when nobody waits. */
  readonly longestWaitMs: number;
}

interface Waiting {
  readonly sinceMs: number;
  readonly begin: () => void;
}

interface AccountLine {
  isWell: boolean;
  running: number;
  readonly waiting: Waiting[];
}

export function createRunQueue({
  slots,
  clock,
}: {
  readonly slots: number;
  readonly clock: Clock;
}): RunQueue {
  const lines = new Map<string, AccountLine>();
  /** Accounts with something waiting, next one first. */
  const wellTurns = new Set<string>();
  const unhealthyTurns = new Set<string>();
  let well = 0;
  let unhealthy = 0;

  function lineOf(accountId: string): AccountLine {
    const line = lines.get(accountId) ?? { isWell: true, running: 0, waiting: [] };
    lines.set(accountId, line);
    return line;
  }

  function begin(accountId: string, line: AccountLine, turns: Set<string>): void {
    turns.delete(accountId);
    const next = line.waiting.shift();
    // To the end of the line of accounts, when it has more.
    if (line.waiting.length > 0) turns.add(accountId);
    line.running += 1;
    if (line.isWell) well += 1;
    else unhealthy += 1;
    next?.begin();
  }

  function beginWhatMay(): void {
    for (const accountId of wellTurns) {
      if (well >= slots || well + unhealthy >= 2 * slots) break;
      begin(accountId, lineOf(accountId), wellTurns);
    }
    for (const accountId of unhealthyTurns) {
      if (unhealthy >= slots || well + unhealthy >= 2 * slots) break;
      const line = lineOf(accountId);
      if (line.running === 0) begin(accountId, line, unhealthyTurns);
    }
  }

  function end(line: AccountLine): void {
    line.running -= 1;
    if (line.isWell) well -= 1;
    else unhealthy -= 1;
    beginWhatMay();
  }

  return {
    async run(accountId, work) {
      const line = lineOf(accountId);
      await new Promise<void>((resolve) => {
        line.waiting.push({ sinceMs: clock.monotonicMs(), begin: resolve });
        (line.isWell ? wellTurns : unhealthyTurns).add(accountId);
        beginWhatMay();
      });
      try {
        return await work();
      } finally {
        end(line);
      }
    },
    noteHealth(accountId, isWell) {
      const line = lineOf(accountId);
      if (line.isWell === isWell) return;
      line.isWell = isWell;
      well += isWell ? line.running : -line.running;
      unhealthy += isWell ? -line.running : line.running;
      if (line.waiting.length > 0) {
        (isWell ? unhealthyTurns : wellTurns).delete(accountId);
        (isWell ? wellTurns : unhealthyTurns).add(accountId);
      }
      beginWhatMay();
    },
    get load() {
      let waiting = 0;
      let oldestMs = Infinity;
      for (const accountId of [...wellTurns, ...unhealthyTurns]) {
        const line = lineOf(accountId);
        waiting += line.waiting.length;
        oldestMs = Math.min(oldestMs, line.waiting[0]?.sinceMs ?? Infinity);
      }
      return {
        slots,
        running: well + unhealthy,
        unhealthy,
        waiting,
        longestWaitMs: waiting === 0 ? 0 : clock.monotonicMs() - oldestMs,
      };
    },
  };
}
