/**
 * Cron for thousands of accounts: one group for each distinct expression and time zone. The tick of a group is staggered
 * over a period, with each account at a fixed point of it, so that replicas agree and requests are spread evenly.
 *
 * node-cron only computes the next time of an expression. Its own runner is not used, because it iterates over every slot
 * that a clock jump skipped, and stops when the clock goes back. Here one timer compares the clock with the next time of
 * each group, so a group ticks once, however far the clock has jumped.
 */
import { hash } from 'node:crypto';
import cron, { type ScheduledTask } from 'node-cron';
import { type Clock, MINUTE_MS, SECOND_MS } from '../../shared/time.ts';

export interface CronEntry<Target> {
  readonly accountId: string;
  readonly target: Target;
  readonly timezone: string;
  readonly expression: string;
}

interface CronGroupsOptions<Target> {
  readonly entries: readonly CronEntry<Target>[];
  /** The period over which a tick is staggered, at most half of the time to the next tick. */
  readonly spreadMs: number;
  readonly clock: Clock;
  readonly onTick: (target: Target, periodMs: number | null) => void;
  /** Called right before `onTick` when a tick is late. */
  readonly onMissed: (target: Target) => void;
}

export interface CronGroups<Target> {
  /** The next ticks of one account, in ms from now. */
  next(accountId: string): { readonly target: Target; readonly inMs: number }[];
  /** Number of distinct expressions and time zones. */
  readonly groups: number;
  /** When the schedules were last compared with the clock, by the monotonic clock. */
  readonly lookedMs: number;
  stop(): Promise<void>;
}

interface Member<Target> {
  readonly accountId: string;
  readonly target: Target;
  /** Position in a staggered tick, from 0 to 1. */
  readonly share: number;
}

interface Group<Target> {
  /** Never started; only computes times. */
  readonly task: ScheduledTask;
  /** By the wall clock, which can jump. */
  nextAtMs: number;
  /** Sorted by share. */
  readonly members: readonly Member<Target>[];
  /** The current tick: its start by the monotonic clock, and the period over which it is staggered. */
  tick: { readonly beganMs: number; readonly overMs: number } | null;
}

/** Least delay between two steps of a staggered tick. */
const STEP_MS = 250;
/** Most delay between two looks at the clock: a jump is noticed within this time. */
const LOOK_EVERY_MS = SECOND_MS;
/** A tick later than this counts as missed. */
const LATE_MS = 10 * SECOND_MS;
/** Shorter steps back only delay the next tick; planning again would repeat the last one. */
const STEP_BACK_MS = MINUTE_MS;

/** A hash of a name as a number from 0 to 1. */
export const shareOf = (name: string): number => parseInt(hash('sha256', name).slice(0, 8), 16) / 2 ** 32;

/** Appends a value to the list of a key. */
function addTo<Value>(lists: Map<string, Value[]>, key: string, value: Value): void {
  const list = lists.get(key);
  if (list === undefined) lists.set(key, [value]);
  else list.push(value);
}

const untilNextMs = (task: ScheduledTask): number =>
  (task.getNextRuns(1)[0]?.getTime() ?? Infinity) - Date.now();

function buildGroups<Target>(entries: readonly CronEntry<Target>[], clock: Clock): Group<Target>[] {
  const byExpression = new Map<string, CronEntry<Target>[]>();
  for (const entry of entries) addTo(byExpression, JSON.stringify([entry.expression, entry.timezone]), entry);
  return [...byExpression.values()].flatMap((alike) => {
    const [first] = alike;
    if (first === undefined) return [];
    const members = alike
      .map(({ accountId, target }) => ({ accountId, target, share: shareOf(accountId) }))
      .sort((one, other) => one.share - other.share);
    const task = cron.createTask(first.expression, () => undefined, { timezone: first.timezone });
    return [{ task, members, nextAtMs: clock.now() + untilNextMs(task), tick: null }];
  });
}

export function startCronGroups<Target>(options: CronGroupsOptions<Target>): CronGroups<Target> {
  const { clock, spreadMs, onTick, onMissed } = options;
  const groups = buildGroups(options.entries, clock);
  const ofAccount = new Map<string, { readonly group: Group<Target>; readonly member: Member<Target> }[]>();
  for (const group of groups)
    for (const member of group.members) addTo(ofAccount, member.accountId, { group, member });
  const timers = new Set<NodeJS.Timeout>();
  let isStopped = false;
  let looking: NodeJS.Timeout | undefined;
  let lookedAtMs = clock.now();
  let lookedMs = clock.monotonicMs();

  const overMsOf = (periodMs: number | null): number => Math.min(spreadMs, (periodMs ?? 0) / 2);

  function plan(group: Group<Target>): void {
    group.nextAtMs = clock.now() + untilNextMs(group.task);
  }

  function startTick(group: Group<Target>, doWith: (target: Target, periodMs: number | null) => void): void {
    const periodMs = group.nextAtMs - clock.now();
    const tick = { beganMs: clock.monotonicMs(), overMs: overMsOf(periodMs) };
    group.tick = tick;
    let done = 0;
    const step = (): void => {
      const passedMs = clock.monotonicMs() - tick.beganMs;
      for (; done < group.members.length; done += 1) {
        const member = group.members[done];
        if (member === undefined || isStopped) return;
        const inMs = member.share * tick.overMs - passedMs;
        if (inMs > 0) {
          const later = (): void => {
            timers.delete(timer);
            step();
          };
          const timer = setTimeout(later, Math.max(STEP_MS, inMs));
          timers.add(timer);
          return;
        }
        doWith(member.target, periodMs);
      }
      if (group.tick === tick) group.tick = null;
    };
    step();
  }

  function untilNext({ group, member }: { group: Group<Target>; member: Member<Target> }): number {
    const { tick, task } = group;
    if (tick !== null) {
      const inMs = member.share * tick.overMs - (clock.monotonicMs() - tick.beganMs);
      if (inMs > 0) return inMs;
    }
    const nextMs = Math.max(0, group.nextAtMs - clock.now());
    // The stagger period depends on the time between the next tick and the one after it.
    const [, second] = spreadMs === 0 ? [] : task.getNextRuns(2);
    const periodMs = second === undefined ? null : second.getTime() - Date.now() - nextMs;
    return nextMs + member.share * overMsOf(periodMs);
  }

  function makeUp(target: Target, periodMs: number | null): void {
    onMissed(target);
    onTick(target, periodMs);
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
      startTick(group, lateMs > LATE_MS ? makeUp : onTick);
    }
    const soonestMs = groups.reduce((least, { nextAtMs }) => Math.min(least, nextAtMs), Infinity);
    looking = setTimeout(look, Math.min(LOOK_EVERY_MS, Math.max(1, soonestMs - clock.now())));
  }

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
