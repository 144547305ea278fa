/**
 * Cron for thousands of accounts: one task for each distinct expression and time zone, whoever uses it. What one fires is
 * spread over a while, each account always at the same point of it, so that replicas agree and services are asked evenly.
 */
import cron, { type ScheduledTask } from 'node-cron';
import type { Clock } from '../shared/time.ts';

export interface CronEntry<Target> {
  readonly accountId: string;
  readonly target: Target;
  readonly timezone: string;
  readonly expression: string;
}

export interface CronGroupsOptions<Target> {
  readonly entries: readonly CronEntry<Target>[];
  /** Over how long a firing is spread; never over more than half of the time to the next one. */
  readonly spreadMs: number;
  readonly clock: Clock;
  readonly fire: (target: Target, periodMs: number | null) => void;
  /** A firing came too late to be on time; it is made up for now. */
  readonly onMissed: (target: Target) => void;
}

export interface CronGroups<Target> {
  /** Of one account, ms from now. */
  next(accountId: string): { readonly target: Target; readonly inMs: number }[];
  readonly tasks: number;
  stop(): Promise<void>;
}

interface Member<Target> {
  readonly target: Target;
  /** Where in the spread, 0 to 1. */
  readonly share: number;
}

interface Group<Target> {
  readonly task: ScheduledTask;
  /** By their place in the spread. */
  readonly members: readonly Member<Target>[];
  /** The firing under way: its beginning on the monotonic clock and over how long it is spread. */
  wave: { readonly beganMs: number; readonly overMs: number; done: number } | null;
}

/** A wave is looked at no more often than this. */
const STEP_MS = 250;

/** A number from 0 to 1 that is a name's own (FNV-1a, finished so that names which differ in their end part widely). */
export function shareOf(name: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < name.length; at += 1) hash = Math.imul(hash ^ name.charCodeAt(at), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return ((hash ^ (hash >>> 16)) >>> 0) / 2 ** 32;
}

export function startCronGroups<Target>(options: CronGroupsOptions<Target>): CronGroups<Target> {
  const { clock, spreadMs, fire, onMissed } = options;
  const timers = new Set<NodeJS.Timeout>();
  const ofAccount = new Map<string, { readonly group: Group<Target>; readonly member: Member<Target> }[]>();
  const groups: Group<Target>[] = [];
  let isStopped = false;

  const overMsOf = (periodMs: number | null): number => Math.min(spreadMs, (periodMs ?? 0) / 2);

  function startWave(group: Group<Target>, doWith: (target: Target, periodMs: number | null) => void): void {
    const periodMs = group.task.msToNext();
    const wave = { beganMs: clock.monotonicMs(), overMs: overMsOf(periodMs), done: 0 };
    group.wave = wave;
    const step = (): void => {
      const passedMs = clock.monotonicMs() - wave.beganMs;
      for (; wave.done < group.members.length; wave.done += 1) {
        const member = group.members[wave.done];
        if (member === undefined || isStopped) return;
        if (member.share * wave.overMs > passedMs) {
          const timer = setTimeout(
            () => {
              timers.delete(timer);
              step();
            },
            Math.max(STEP_MS, member.share * wave.overMs - passedMs),
          );
          timers.add(timer);
          return;
        }
        doWith(member.target, periodMs);
      }
      if (group.wave === wave) group.wave = null;
    };
    step();
  }

  function addGroup(entries: readonly CronEntry<Target>[]): void {
    const [first] = entries;
    if (first === undefined) return;
    const named = entries
      .map(({ accountId, target }) => ({ accountId, member: { target, share: shareOf(accountId) } }))
      .sort((one, other) => one.member.share - other.member.share);
    const task = cron.schedule(first.expression, () => startWave(group, fire), {
      timezone: first.timezone,
      name: `${first.expression} ${first.timezone}`,
      suppressMissedWarning: true,
    });
    const group: Group<Target> = { task, members: named.map(({ member }) => member), wave: null };
    task.on('execution:missed', () => {
      if (isStopped) return;
      startWave(group, (target, periodMs) => {
        onMissed(target);
        fire(target, periodMs);
      });
    });
    groups.push(group);
    for (const { accountId, member } of named) {
      const before = ofAccount.get(accountId);
      if (before === undefined) ofAccount.set(accountId, [{ group, member }]);
      else before.push({ group, member });
    }
  }

  function inMsOf({ group, member }: { group: Group<Target>; member: Member<Target> }): number | null {
    const { wave, task } = group;
    if (wave !== null) {
      const inMs = member.share * wave.overMs - (clock.monotonicMs() - wave.beganMs);
      if (inMs > 0) return inMs;
    }
    const nextMs = task.msToNext();
    if (nextMs === null) return null;
    // The spread of the next firing follows the time between it and the one after.
    const [, second] = spreadMs === 0 ? [] : task.getNextRuns(2);
    const periodMs = second === undefined ? null : second.getTime() - Date.now() - nextMs;
    return nextMs + member.share * overMsOf(periodMs);
  }

  const byExpression = new Map<string, CronEntry<Target>[]>();
  for (const entry of options.entries) {
    const key = JSON.stringify([entry.expression, entry.timezone]);
    const before = byExpression.get(key);
    if (before === undefined) byExpression.set(key, [entry]);
    else before.push(entry);
  }
  for (const entries of byExpression.values()) addGroup(entries);

  return {
    next: (accountId) =>
      (ofAccount.get(accountId) ?? []).flatMap((one) => {
        const inMs = inMsOf(one);
        return inMs === null ? [] : [{ target: one.member.target, inMs }];
      }),
    tasks: groups.length,
    async stop() {
      isStopped = true;
      for (const timer of timers) clearTimeout(timer);
      timers.clear();
      await Promise.all(groups.map(async ({ task }) => await task.destroy()));
    },
  };
}
