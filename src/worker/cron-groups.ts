/**
 * Cron for thousands of accounts: one group for each distinct expression and time zone, whoever uses it. What one fires
 * is spread over a while, each account always at the same point of it, so that replicas agree and services are asked evenly.
 *
 * node-cron says when an expression is next; it does not run anything, because its own runner walks every slot that a
 * clock has jumped over, one by one, and stands still when a clock has gone back. Here one timer compares the clock with
 * the next time of each group: however far the clock has jumped, a group fires once.
 */
import cron, { type ScheduledTask } from 'node-cron';
import { type Clock, MINUTE_MS, SECOND_MS } from '../shared/time.ts';

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
  /** Distinct expressions and time zones. */
  readonly groups: number;
  /** When the schedules were last compared with the clock, on the monotonic clock. */
  readonly lookedMs: number;
  stop(): Promise<void>;
}

interface Member<Target> {
  readonly target: Target;
  /** Where in the spread, 0 to 1. */
  readonly share: number;
}

interface Group<Target> {
  /** Never started: only asked for its times. */
  readonly task: ScheduledTask;
  /** By the clock that can jump. */
  nextAtMs: number;
  /** By their place in the spread. */
  readonly members: readonly Member<Target>[];
  /** The firing under way: its beginning on the monotonic clock and over how long it is spread. */
  wave: { readonly beganMs: number; readonly overMs: number; done: number } | null;
}

/** A wave is looked at no more often than this. */
const STEP_MS = 250;
/** The clock is looked at at least so often: a jump is noticed within this time. */
const LOOK_EVERY_MS = SECOND_MS;
/** A firing that comes later than this was missed. */
const LATE_MS = 10 * SECOND_MS;
/** Steps back that are shorter only delay the next firing; to plan anew would fire what was fired just before. */
const STEP_BACK_MS = MINUTE_MS;

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
  let looking: NodeJS.Timeout | undefined;
  let lookedAtMs = clock.now();
  let lookedMs = clock.monotonicMs();

  const overMsOf = (periodMs: number | null): number => Math.min(spreadMs, (periodMs ?? 0) / 2);

  const inMsOf = (task: ScheduledTask): number =>
    (task.getNextRuns(1)[0]?.getTime() ?? Infinity) - Date.now();

  function plan(group: Group<Target>): void {
    group.nextAtMs = clock.now() + inMsOf(group.task);
  }

  function startWave(group: Group<Target>, doWith: (target: Target, periodMs: number | null) => void): void {
    const periodMs = group.nextAtMs - clock.now();
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
    const task = cron.createTask(first.expression, () => undefined, { timezone: first.timezone });
    const members = named.map(({ member }) => member);
    const group: Group<Target> = { task, members, nextAtMs: clock.now() + inMsOf(task), wave: null };
    groups.push(group);
    for (const { accountId, member } of named) {
      const before = ofAccount.get(accountId);
      if (before === undefined) ofAccount.set(accountId, [{ group, member }]);
      else before.push({ group, member });
    }
  }

  function untilNext({ group, member }: { group: Group<Target>; member: Member<Target> }): number {
    const { wave, task } = group;
    if (wave !== null) {
      const inMs = member.share * wave.overMs - (clock.monotonicMs() - wave.beganMs);
      if (inMs > 0) return inMs;
    }
    const nextMs = Math.max(0, group.nextAtMs - clock.now());
    // The spread of the next firing follows the time between it and the one after.
    const [, second] = spreadMs === 0 ? [] : task.getNextRuns(2);
    const periodMs = second === undefined ? null : second.getTime() - Date.now() - nextMs;
    return nextMs + member.share * overMsOf(periodMs);
  }

  function fireMissed(target: Target, periodMs: number | null): void {
    onMissed(target);
    fire(target, periodMs);
  }

  function look(): void {
    const nowMs = clock.now();
    if (nowMs < lookedAtMs - STEP_BACK_MS) for (const group of groups) plan(group);
    lookedAtMs = nowMs;
    lookedMs = clock.monotonicMs();
    for (const group of groups) {
      const lateMs = nowMs - group.nextAtMs;
      if (lateMs < 0) continue;
      plan(group);
      startWave(group, lateMs > LATE_MS ? fireMissed : fire);
    }
    const soonestMs = groups.reduce((least, { nextAtMs }) => Math.min(least, nextAtMs), Infinity);
    looking = setTimeout(look, Math.min(LOOK_EVERY_MS, Math.max(1, soonestMs - clock.now())));
  }

  const byExpression = new Map<string, CronEntry<Target>[]>();
  for (const entry of options.entries) {
    const key = JSON.stringify([entry.expression, entry.timezone]);
    const before = byExpression.get(key);
    if (before === undefined) byExpression.set(key, [entry]);
    else before.push(entry);
  }
  for (const entries of byExpression.values()) addGroup(entries);
  look();

  return {
    next: (accountId) =>
      (ofAccount.get(accountId) ?? []).map((one) => ({ target: one.member.target, inMs: untilNext(one) })),
    groups: groups.length,
    get lookedMs() {
      return lookedMs;
    },
    async stop() {
      isStopped = true;
      clearTimeout(looking);
      for (const timer of timers) clearTimeout(timer);
      timers.clear();
      await Promise.all(groups.map(async ({ task }) => await task.destroy()));
    },
  };
}
