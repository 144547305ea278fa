import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  type BudgetState,
  decide,
  evenRateOf,
  rateOf,
  stateAfter,
  type Start,
} from '../../../src/engine/api/request-budget.ts';

const MINUTE = 60_000;

/** An account whose requests begin as soon as they may, from the given time on. */
function startsFrom(nowMs: number, perMinute: number, most: number, state: BudgetState | null = null) {
  const rate = rateOf(perMinute);
  const starts: number[] = [];
  let now = nowMs;
  let kept = state;
  while (starts.length < most) {
    const decision = decide(kept, now, rate);
    kept = decision.after ?? kept;
    if (decision.kind === 'start') starts.push(now);
    else now += decision.ms;
  }
  return { starts, state: kept };
}

test('at 40 a minute ten starts are saved up in twenty seconds, the others come every two seconds', () => {
  const { state } = startsFrom(0, 40, 1);
  const { starts } = startsFrom(100_000, 40, 13, state);
  expect(starts.map((ms) => ms - 100_000)).toEqual([...Array<number>(10).fill(0), 2_000, 4_000, 6_000]);
});

test('a new account has nothing saved up, and at 4 a minute the fourth start waits for a minute', () => {
  expect(startsFrom(0, 40, 3).starts).toEqual([2_000, 4_000, 6_000]);
  expect(startsFrom(0, 4, 4).starts).toEqual([20_000, 40_000, 60_000, 80_000]);
  expect(evenRateOf(40)).toEqual({ burst: 1, intervalMs: 1_500 });
});

test('no 60 seconds hold more starts than the number, with pauses of any length and starts used up to a second late', () => {
  const step = fc.record({ idleMs: fc.nat({ max: 90_000 }), lateMs: fc.nat({ max: 1_000 }) });
  fc.assert(
    fc.property(
      fc.integer({ min: 4, max: 2_000 }),
      fc.array(step, { maxLength: 200 }),
      (perMinute, steps) => {
        const rate = rateOf(perMinute);
        const used: number[] = [];
        let state: BudgetState | null = null;
        let now = 0;
        for (const { idleMs, lateMs } of steps) {
          // Long pauses are rare, so that the number is reached.
          now += idleMs > 80_000 ? idleMs : 0;
          for (let tries = 0; tries < 40; tries += 1) {
            const decision = decide(state, now, rate);
            state = decision.after ?? state;
            if (decision.kind === 'start') used.push(now + lateMs);
            else now += decision.ms;
          }
        }
        used.sort((one, other) => one - other);
        const isOver = used.some((ms, at) => (used[at + perMinute] ?? Infinity) - ms <= MINUTE);
        expect(isOver).toBe(false);
      },
    ),
    { numRuns: 200 },
  );
});

describe('after a refusal', () => {
  const refuse = (state: BudgetState | null, nowMs: number, start: Partial<Start> = {}) =>
    stateAfter(state, nowMs, {
      start: { atMs: 0, isProbe: false, ...start },
      end: 'refused',
      blockMs: MINUTE,
    });
  const blocked = refuse(null, 1_000);

  test.each([['with a number', rateOf(40)] as const, ['with off', null] as const])(
    'nothing starts during the block, then one request alone, which opens the way (%s)',
    (_name, rate) => {
      expect(decide(blocked, 60_999, rate)).toMatchObject({ kind: 'wait', ms: 1, blockedUntilMs: 61_000 });
      const probe = decide(blocked, 61_000, rate);
      expect(probe).toMatchObject({ kind: 'start', isProbe: true });
      expect(decide(probe.after, 61_001, rate).kind).toBe('wait');
      const start = { atMs: 61_000, isProbe: true };
      const open = stateAfter(probe.after, 62_000, { start, end: 'answered', blockMs: 0 });
      expect(decide(open, 62_001, rate)).toMatchObject({ kind: 'start', isProbe: false });
    },
  );

  test('refusals of requests that started before the block do not lengthen it, also when they come late', () => {
    expect(refuse(blocked, 1_500, { atMs: 900 })).toBeNull();
    const probing = decide(blocked, 61_000, null).after;
    expect(refuse(probing, 61_500, { atMs: 900 })).toBeNull();
  });

  test('a refusal of the one request begins another block', () => {
    const probing = decide(blocked, 61_000, null).after;
    const again = refuse(probing, 62_000, { atMs: 61_000, isProbe: true });
    expect(decide(again, 121_999, null)).toMatchObject({ kind: 'wait', ms: 1 });
    expect(decide(again, 122_000, null)).toMatchObject({ kind: 'start', isProbe: true });
  });

  test('a process that dies with the one request blocks nobody for longer than the block', () => {
    const probing = decide(blocked, 70_000, null).after;
    expect(decide(probing, 129_999, null).kind).toBe('wait');
    expect(decide(probing, 130_000, null)).toMatchObject({ kind: 'start', isProbe: true });
  });
});
