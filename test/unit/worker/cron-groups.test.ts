import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { shareOf, startCronGroups } from '../../../src/operate/worker/cron-groups.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS } from '../../../src/shared/time.ts';

const START = Date.UTC(2026, 2, 2, 12, 0, 0);
const QUARTERLY = '*/15 * * * *';

let groups: ReturnType<typeof startCronGroups> | undefined;
let ticks: { target: string; atMs: number; periodMs: number | null }[];
let missed: string[];

beforeEach(() => {
  vi.useFakeTimers({ now: START + SECOND_MS });
  ticks = [];
  missed = [];
});
afterEach(async () => {
  await groups?.stop();
  vi.useRealTimers();
});

const syncOf = (accountId: string) => ({ accountId, stream: 'resources', kind: 'sync' }) as const;

function start(
  accounts: readonly string[],
  spreadMs: number,
  expressions = [QUARTERLY],
  { timezone = 'UTC', now = () => Date.now() } = {},
): void {
  groups = startCronGroups({
    entries: accounts.flatMap((accountId) =>
      expressions.map((expression) => ({ target: syncOf(accountId), timezone, expression })),
    ),
    spreadMs,
    clock: { now, monotonicMs: () => performance.now() },
    onTick: ({ accountId: target }, periodMs) => ticks.push({ target, atMs: Date.now(), periodMs }),
    onMissed: ({ accountId }) => missed.push(accountId),
  });
}

const names = (count: number) => Array.from({ length: count }, (_, index) => `account-${index}`);

describe('schedules of thousands of accounts', () => {
  it('schedules tick once for every account, staggered over the given spread', async () => {
    const all = names(200);
    start(all, 5 * MINUTE_MS);
    await vi.advanceTimersByTimeAsync(21 * MINUTE_MS);
    expect(ticks.map(({ target }) => target).sort()).toEqual([...all].sort());
    const offsets = ticks.map(({ atMs }) => atMs - START - 15 * MINUTE_MS);
    expect(Math.min(...offsets)).toBeGreaterThanOrEqual(0);
    expect(Math.max(...offsets)).toBeLessThan(5 * MINUTE_MS + 2 * SECOND_MS);
    // Evenly enough: no minute of the five has twice its share.
    for (let minute = 0; minute < 5; minute += 1) {
      const inIt = offsets.filter((ms) => Math.floor(ms / MINUTE_MS) === minute).length;
      expect(inIt).toBeGreaterThan(20);
      expect(inIt).toBeLessThan(80);
    }
  });

  it('ticks are staggered over at most half of the period', async () => {
    start(names(50), 5 * MINUTE_MS, ['* * * * *']);
    await vi.advanceTimersByTimeAsync(MINUTE_MS + 31 * SECOND_MS);
    expect(ticks).toHaveLength(50);
    expect(ticks[0]?.periodMs).toBeLessThanOrEqual(MINUTE_MS);
  });

  it('the next tick of an account includes its constant offset, also during a staggered tick', async () => {
    start(['early', 'late'], 5 * MINUTE_MS);
    const inMs = (account: string) => groups?.next(account)[0]?.inMs ?? -1;
    const pointOf = (account: string) => 15 * MINUTE_MS - SECOND_MS + shareOf(account) * 5 * MINUTE_MS;
    expect(inMs('early')).toBeCloseTo(pointOf('early'), -3);
    const [first = '', last = ''] =
      shareOf('early') < shareOf('late') ? ['early', 'late'] : ['late', 'early'];
    await vi.advanceTimersByTimeAsync(pointOf(first) + 2 * SECOND_MS);
    expect(ticks.map(({ target }) => target)).toEqual([first]);
    expect(inMs(last)).toBeLessThan(5 * MINUTE_MS);
    expect(inMs(first)).toBeGreaterThan(5 * MINUTE_MS);
  });

  it('stopped schedules do not tick, not even for the rest of a staggered tick', async () => {
    start(names(100), 5 * MINUTE_MS);
    await vi.advanceTimersByTimeAsync(16 * MINUTE_MS);
    const before = ticks.length;
    expect(before).toBeGreaterThan(0);
    expect(before).toBeLessThan(100);
    await groups?.stop();
    await vi.advanceTimersByTimeAsync(30 * MINUTE_MS);
    expect(ticks).toHaveLength(before);
  });
});

describe('a clock that jumps', () => {
  const EXPRESSIONS = [QUARTERLY, '*/10 * * * * *', '30 2 * * 0'];

  it.each([
    ['a machine that slept for a month', START, 30 * DAY_MS],
    ['a machine that booted in 1970', 0, START],
  ])(
    'after a clock jumps forward (%s), each schedule ticks once, as missed, and continues',
    async (_, bootMs, byMs) => {
      vi.setSystemTime(bootMs + SECOND_MS);
      start(['one'], 0, EXPRESSIONS);
      await vi.advanceTimersByTimeAsync(SECOND_MS);
      const before = ticks.length;
      vi.setSystemTime(bootMs + byMs + 2 * SECOND_MS);
      await vi.advanceTimersByTimeAsync(2 * SECOND_MS);
      expect(missed).toEqual(['one', 'one', 'one']);
      expect(ticks).toHaveLength(before + 3);
      await vi.advanceTimersByTimeAsync(15 * MINUTE_MS);
      expect(missed).toHaveLength(3);
      // One of every quarter of an hour, ninety of every ten seconds.
      expect(ticks).toHaveLength(before + 3 + 1 + 90);
    },
  );

  it.each([HOUR_MS, 30 * DAY_MS, START - DAY_MS])(
    'after a clock jumps back by %d ms, the schedules continue, and repeated times tick once more',
    async (byMs) => {
      start(['one'], 0, EXPRESSIONS);
      await vi.advanceTimersByTimeAsync(20 * MINUTE_MS);
      expect(ticks).toHaveLength(1 + 120);
      vi.setSystemTime(Date.now() - byMs);
      await vi.advanceTimersByTimeAsync(20 * MINUTE_MS);
      expect(missed).toEqual([]);
      expect(ticks.length - 121).toBeGreaterThanOrEqual(1 + 119);
      expect(ticks.length - 121).toBeLessThanOrEqual(2 + 121);
      expect(groups?.next('one').every(({ inMs }) => inMs >= 0 && inMs <= 7 * DAY_MS)).toBe(true);
    },
  );

  it('a clock that advances during the computation of the next tick repeats none', async () => {
    // After the first reading of the clock passes the time that the first computation of a cron expression takes.
    let computingMs = 13;
    const now = () => {
      const read = Date.now();
      vi.setSystemTime(read + computingMs);
      computingMs = 0;
      return read;
    };
    start(['one'], 0, [QUARTERLY], { now });
    await vi.advanceTimersByTimeAsync(31 * MINUTE_MS);
    expect(ticks.map(({ periodMs }) => Math.round((periodMs ?? 0) / MINUTE_MS))).toEqual([15, 15]);
  });

  it('a clock that moves back by seconds repeats no tick', async () => {
    start(['one'], 0);
    await vi.advanceTimersByTimeAsync(15 * MINUTE_MS);
    expect(ticks).toHaveLength(1);
    vi.setSystemTime(Date.now() - 30 * SECOND_MS);
    await vi.advanceTimersByTimeAsync(15 * MINUTE_MS - SECOND_MS);
    expect(ticks).toHaveLength(1);
    await vi.advanceTimersByTimeAsync(32 * SECOND_MS);
    expect(ticks).toHaveLength(2);
  });

  it('the clock is read every second, so that a scheduler without ticks counts as alive', async () => {
    start(['one'], 0, ['0 0 1 1 *']);
    await vi.advanceTimersByTimeAsync(HOUR_MS);
    expect(performance.now() - (groups?.lookedMs ?? -Infinity)).toBeLessThanOrEqual(SECOND_MS);
  });
});

it('a time that summer time skips is not made up for, and the next tick is a day later', () => {
  // Oslo, 2027-03-28: 01:59:59 is followed by 03:00:00.
  vi.setSystemTime(Date.UTC(2027, 2, 28, 0, 30));
  start(['one'], 0, ['30 2 * * *'], { timezone: 'Europe/Oslo' });
  expect(groups?.next('one')).toEqual([{ target: syncOf('one'), inMs: 24 * HOUR_MS }]);
});
