import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { type CronGroups, shareOf, startCronGroups } from '../../../src/scheduler/cron-groups.ts';
import { MINUTE_MS, SECOND_MS } from '../../../src/shared/time.ts';

const START = Date.UTC(2026, 2, 2, 12, 0, 0);
const QUARTERLY = '*/15 * * * *';

let groups: CronGroups<string> | undefined;
let fired: { target: string; atMs: number; periodMs: number | null }[];

beforeEach(() => {
  vi.useFakeTimers({ now: START + SECOND_MS });
  fired = [];
});
afterEach(async () => {
  await groups?.stop();
  vi.useRealTimers();
});

function start(accounts: readonly string[], spreadMs: number, expressions = [QUARTERLY]): void {
  groups = startCronGroups<string>({
    entries: accounts.flatMap((accountId) =>
      expressions.map((expression) => ({ accountId, target: accountId, timezone: 'UTC', expression })),
    ),
    spreadMs,
    clock: { now: () => Date.now(), monotonicMs: () => Date.now() },
    fire: (target, periodMs) => fired.push({ target, atMs: Date.now(), periodMs }),
    onMissed: () => undefined,
  });
}

const names = (count: number) => Array.from({ length: count }, (_, index) => `account-${index}`);

describe('schedules of thousands of accounts', () => {
  it('are one task for each distinct expression', () => {
    start(names(2_000), 0, [QUARTERLY, '0 3 * * *']);
    expect(groups?.tasks).toBe(2);
  });

  it('fire every account once, spread over the time that was given and no longer', async () => {
    const all = names(200);
    start(all, 5 * MINUTE_MS);
    await vi.advanceTimersByTimeAsync(21 * MINUTE_MS);
    expect(fired.map(({ target }) => target).sort()).toEqual([...all].sort());
    const offsets = fired.map(({ atMs }) => atMs - START - 15 * MINUTE_MS);
    expect(Math.min(...offsets)).toBeGreaterThanOrEqual(0);
    expect(Math.max(...offsets)).toBeLessThan(5 * MINUTE_MS + 2 * SECOND_MS);
    // Evenly enough: no minute of the five has twice its share.
    for (let minute = 0; minute < 5; minute += 1) {
      const inIt = offsets.filter((ms) => Math.floor(ms / MINUTE_MS) === minute).length;
      expect(inIt).toBeGreaterThan(20);
      expect(inIt).toBeLessThan(80);
    }
  });

  it('have an account always at the same point, so that replicas agree', async () => {
    start(names(20), 5 * MINUTE_MS);
    await vi.advanceTimersByTimeAsync(31 * MINUTE_MS + 5 * MINUTE_MS);
    const offsetsOf = (target: string) =>
      fired.flatMap((one) => (one.target === target ? [(one.atMs - START) % (15 * MINUTE_MS)] : []));
    for (const name of names(20)) {
      const [first = -1, second = -2] = offsetsOf(name);
      expect(Math.abs(first - second)).toBeLessThanOrEqual(2 * SECOND_MS);
    }
  });

  it('are spread over half of the period at most', async () => {
    start(names(50), 5 * MINUTE_MS, ['* * * * *']);
    await vi.advanceTimersByTimeAsync(MINUTE_MS + 31 * SECOND_MS);
    expect(fired).toHaveLength(50);
    expect(fired[0]?.periodMs).toBeLessThanOrEqual(MINUTE_MS);
  });

  it('tell when an account is next, its place in the spread included, also while a firing is under way', async () => {
    start(['early', 'late'], 5 * MINUTE_MS);
    const inMs = (account: string) => groups?.next(account)[0]?.inMs ?? -1;
    const place = (account: string) => 15 * MINUTE_MS - SECOND_MS + shareOf(account) * 5 * MINUTE_MS;
    expect(inMs('early')).toBeCloseTo(place('early'), -3);
    const [first = '', last = ''] =
      shareOf('early') < shareOf('late') ? ['early', 'late'] : ['late', 'early'];
    await vi.advanceTimersByTimeAsync(place(first) + 2 * SECOND_MS);
    expect(fired.map(({ target }) => target)).toEqual([first]);
    expect(inMs(last)).toBeLessThan(5 * MINUTE_MS);
    expect(inMs(first)).toBeGreaterThan(5 * MINUTE_MS);
  });

  it('fire no more when they are stopped, not even the rest of a firing under way', async () => {
    start(names(100), 5 * MINUTE_MS);
    await vi.advanceTimersByTimeAsync(16 * MINUTE_MS);
    const before = fired.length;
    expect(before).toBeGreaterThan(0);
    expect(before).toBeLessThan(100);
    await groups?.stop();
    await vi.advanceTimersByTimeAsync(30 * MINUTE_MS);
    expect(fired).toHaveLength(before);
  });
});
