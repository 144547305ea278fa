/**
 * Cron for thousands of accounts: one group for each distinct expression and time zone. The tick of a group is staggered
 * over a period, with each account at a fixed point of it, so that replicas agree and requests are spread evenly.
 *
 * node-cron only computes the next time of an expression. Its own runner is not used, because it iterates over every tick
 * that a clock jump skipped, and stops when the clock goes back. Here one timer compares the clock with the next time of
 * each group, so a group ticks once, however far the clock has jumped.
 */
import { hash } from 'node:crypto';
import cron, { type ScheduledTask } from 'node-cron';
import { groupBy } from '../../shared/group-by.ts';
import { type Clock, MINUTE_MS, SECOND_MS } from '../../shared/time.ts';
import type { StreamName } from '../../engine/streams/stream.ts';

/** The work that a tick starts. */
export interface JobTarget {
  readonly accountId: string;
  readonly stream: StreamName;
  readonly kind: 'sync' | 'reconcile';
}

export interface CronEntry {
  readonly target: JobTarget;
  readonly timezone: string;
  readonly expression: string;
}

interface CronGroupsOptions {
  readonly entries: readonly CronEntry[];
  /** The period over which a tick is staggered, at most half of the time to the next tick. */
  readonly spreadMs: number;
  readonly clock: Clock;
  readonly onTick: (target: JobTarget, periodMs: number) => void;
  /** Called right before `onTick` when a tick is late. */
  readonly onMissed: (target: JobTarget) => void;
}

interface Member {
  readonly target: JobTarget;
  /** Position in a staggered tick, from 0 to 1. */
  readonly share: number;
}

/** A tick under way. */
interface Tick {
  /** Its start by the monotonic clock. */
  readonly beganMs: number;
  /** The period over which it is staggered. */
  readonly overMs: number;
  /** The time to the next tick. */
  readonly periodMs: number;
  readonly isLate: boolean;
  /** Members that were triggered. */
  done: number;
}

interface CronGroup {
  /** Never started; only computes times. */
  readonly task: ScheduledTask;
  /** By the wall clock, which can jump. */
  nextAtMs: number;
  /** Sorted by share. */
  readonly members: readonly Member[];
  tick: Tick | null;
}

/** Most delay between two looks at the clock: a jump is noticed within this time. */
const LOOK_EVERY_MS = SECOND_MS;
/** A tick later than this counts as missed. */
const LATE_MS = 10 * SECOND_MS;
/** Shorter steps back only delay the next tick; planning again would repeat the last one. */
const STEP_BACK_MS = MINUTE_MS;

/** A hash of a name as a number from 0 to 1. */
export const shareOf = (name: string): number => parseInt(hash('sha256', name).slice(0, 8), 16) / 2 ** 32;

/** The next run by `clock`. The times of both clocks are read after the computation of node-cron, because it takes several ms. */
function nextAtMs(task: ScheduledTask, clock: Clock): number {
  const nextMs = task.getNextRuns(1)[0]?.getTime() ?? Infinity;
  return nextMs - Date.now() + clock.now();
}

function buildGroups(entries: readonly CronEntry[], clock: Clock): CronGroup[] {
  const groups = groupBy(entries, (one) => JSON.stringify([one.expression, one.timezone]));
  return groups.map((alike) => {
    const [{ expression, timezone }] = alike;
    const members = alike
      .map(({ target }) => ({ target, share: shareOf(target.accountId) }))
      .sort((one, other) => one.share - other.share);
    const task = cron.createTask(expression, () => undefined, { timezone });
    return { task, members, nextAtMs: nextAtMs(task, clock), tick: null };
  });
}

/** Starts the schedules; `stop` ends them. */
export function startCronGroups(options: CronGroupsOptions) {
  const { clock, spreadMs, onTick, onMissed } = options;
  const groups = buildGroups(options.entries, clock);
  let looking: NodeJS.Timeout | undefined;
  let lookedAtMs = clock.now();
  let lookedMs = clock.monotonicMs();

  const overMsOf = (periodMs: number): number => Math.min(spreadMs, periodMs / 2);

  /** Time until a member's moment in a tick under way; negative: it has passed. */
  const untilMember = ({ beganMs, overMs }: Tick, { share }: Member): number =>
    share * overMs - (clock.monotonicMs() - beganMs);

  function plan(group: CronGroup): void {
    group.nextAtMs = nextAtMs(group.task, clock);
  }

  function beginTick(group: CronGroup, isLate: boolean): void {
    plan(group);
    const periodMs = group.nextAtMs - clock.now();
    group.tick = { beganMs: clock.monotonicMs(), overMs: overMsOf(periodMs), periodMs, isLate, done: 0 };
  }

  /** Triggers the members with a moment that has come. */
  function advance(group: CronGroup): void {
    const { tick, members } = group;
    if (tick === null) return;
    for (const member of members.slice(tick.done)) {
      if (untilMember(tick, member) > 0) return;
      tick.done += 1;
      if (tick.isLate) onMissed(member.target);
      onTick(member.target, tick.periodMs);
    }
    group.tick = null;
  }

  function untilNext({ tick, task, nextAtMs }: CronGroup, member: Member): number {
    const inMs = tick === null ? 0 : untilMember(tick, member);
    if (inMs > 0) return inMs;
    const nextMs = Math.max(0, nextAtMs - clock.now());
    // The stagger period depends on the time between the next tick and the one after it.
    const [, second] = spreadMs === 0 ? [] : task.getNextRuns(2);
    const periodMs = second === undefined ? 0 : second.getTime() - Date.now() - nextMs;
    return nextMs + member.share * overMsOf(periodMs);
  }

  function look(): void {
    const nowMs = clock.now();
    if (nowMs < lookedAtMs - STEP_BACK_MS) groups.forEach(plan);
    lookedAtMs = nowMs;
    lookedMs = clock.monotonicMs();
    for (const group of groups) {
      const lateMs = nowMs - group.nextAtMs;
      if (lateMs >= 0) beginTick(group, lateMs > LATE_MS);
      advance(group);
    }
    const soonestMs = groups.reduce((least, { nextAtMs }) => Math.min(least, nextAtMs), Infinity);
    looking = setTimeout(look, Math.min(LOOK_EVERY_MS, Math.max(1, soonestMs - clock.now())));
  }

  look();
  return {
    /** The next ticks of one account, in ms from now. */
    next: (accountId: string) =>
      groups.flatMap((group) =>
        group.members
          .filter(({ target }) => target.accountId === accountId)
          .map((member) => ({ target: member.target, inMs: untilNext(group, member) })),
      ),
    /** When the schedules were last compared with the clock, by the monotonic clock. */
    get lookedMs() {
      return lookedMs;
    },
    async stop() {
      clearTimeout(looking);
      await Promise.all(groups.map(async ({ task }) => await task.destroy()));
    },
  };
}
