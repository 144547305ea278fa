import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  createCircuitBreaker,
  TRIAL_DELAYS,
  type CircuitBreaker,
  type Permit,
} from '../../../src/operate/health/circuit-breaker.ts';
import { SafetySyncError } from '../../../src/shared/errors.ts';
import { HOUR_MS, MINUTE_MS } from '../../../src/shared/time.ts';
import type { StreamName } from '../../../src/engine/streams/stream.ts';
import { STREAM_NAMES } from '../../../src/engine/streams/index.ts';
import { NOON } from '../../support/test-clock.ts';

const refused = new SafetySyncError('token_inactive', 'inactive');
const forbidden = new SafetySyncError('token_permission', 'no right');

function createFixture() {
  let passedMs = 0;
  const breaker = createCircuitBreaker({ now: () => NOON + passedMs, monotonicMs: () => passedMs });
  return { breaker, pass: (ms: number) => void (passedMs += ms) };
}

function permitOf(breaker: CircuitBreaker, stream: StreamName): Permit {
  const permit = breaker.admit(stream);
  if (permit === undefined) throw new Error(`${stream} has an open circuit`);
  return permit;
}

/** The result of a refusal. */
const trialOf = (scope: 'account' | 'stream', minutes: number, closed: 'account' | null = null) => ({
  closed,
  trial: { scope, inMs: minutes * MINUTE_MS },
});

describe('refused credentials', () => {
  it('refused credentials hold every stream, with one trial after 15 minutes, then 30, then an hour, then every hour', () => {
    const { breaker, pass } = createFixture();
    expect(permitOf(breaker, 'resources').authFailed(refused)).toEqual(trialOf('account', 15));
    for (const minutes of [15, 30, 60, 60]) {
      pass(minutes * MINUTE_MS - 1_000);
      expect(breaker.admit('followups')).toBeUndefined();
      pass(1_000);
      const permit = permitOf(breaker, 'followups');
      expect(breaker.admit('users')).toBeUndefined();
      expect(permit.authFailed(refused).trial?.inMs).toBe(Math.min(60, minutes * 2) * MINUTE_MS);
    }
    expect(breaker.openCircuits).toMatchObject([{ holdsAll: true, code: 'token_inactive', sinceMs: NOON }]);
  });

  it('refusals of runs that started together count as one refusal', () => {
    const { breaker } = createFixture();
    const [two, three] = [permitOf(breaker, 'followups'), permitOf(breaker, 'equipments')];
    permitOf(breaker, 'resources').authFailed(refused);
    expect(two.authFailed(refused).trial).toBeNull();
    expect(three.accepted().closed).toBeNull();
    expect(breaker.admit('equipments')).toBeUndefined();
  });

  it('a trial that received no response is repeated after a minute', () => {
    const { breaker, pass } = createFixture();
    const early = permitOf(breaker, 'followups');
    permitOf(breaker, 'resources').authFailed(refused);
    pass(15 * MINUTE_MS);
    const permit = permitOf(breaker, 'resources');
    expect(early.noResponse()).toBeNull();
    expect(permit.noResponse()).toEqual(trialOf('account', 1).trial);
    expect(breaker.admit('followups')).toBeUndefined();
    pass(MINUTE_MS);
    expect(breaker.admit('followups')).toBeDefined();
  });

  it('a missing permission holds only the stream that needs it', () => {
    const { breaker, pass } = createFixture();
    expect(permitOf(breaker, 'equipments').authFailed(forbidden)).toEqual(trialOf('stream', 15));
    expect(breaker.admit('equipments')).toBeUndefined();
    expect(breaker.admit('resources')).toBeDefined();
    expect(breaker.openCircuits).toMatchObject([{ stream: 'equipments', holdsAll: false }]);
    pass(15 * MINUTE_MS);
    expect(permitOf(breaker, 'equipments').accepted().closed).toBe('stream');
    expect(breaker.openCircuits).toEqual([]);
  });
});

describe('credentials that come back in steps', () => {
  it('a stream without permission and with an inactive token runs when all streams run', () => {
    const { breaker, pass } = createFixture();
    permitOf(breaker, 'equipments').authFailed(forbidden);
    pass(15 * MINUTE_MS);
    expect(permitOf(breaker, 'equipments').authFailed(refused)).toMatchObject({
      closed: null,
      trial: { scope: 'account' },
    });
    expect(breaker.admit('equipments')).toBeUndefined();
    pass(15 * MINUTE_MS);
    expect(permitOf(breaker, 'followups').accepted().closed).toBe('account');
    expect(permitOf(breaker, 'equipments').accepted().closed).toBe('stream');
    expect(breaker.openCircuits).toEqual([]);
  });

  it('a trial that is accepted after the refusal of another stream releases its stream only', () => {
    const { breaker, pass } = createFixture();
    const other = permitOf(breaker, 'followups');
    permitOf(breaker, 'equipments').authFailed(forbidden);
    pass(15 * MINUTE_MS);
    const attempt = permitOf(breaker, 'equipments');
    other.authFailed(refused);
    expect(attempt.accepted().closed).toBe('stream');
    expect(breaker.openCircuits).toMatchObject([{ stream: 'followups', holdsAll: true }]);
  });

  it('a trial without a response is replaced after the longest delay', () => {
    const { breaker, pass } = createFixture();
    permitOf(breaker, 'resources').authFailed(refused);
    pass(15 * MINUTE_MS);
    const hanging = permitOf(breaker, 'resources');
    pass(HOUR_MS - MINUTE_MS);
    expect(breaker.admit('followups')).toBeUndefined();
    pass(MINUTE_MS);
    expect(permitOf(breaker, 'followups').authFailed(refused).trial?.inMs).toBe(30 * MINUTE_MS);
    // Its run began before the newest refusal, so its result is too old to count.
    expect(hanging.accepted().closed).toBeNull();
    expect(breaker.admit('followups')).toBeUndefined();
  });
});

describe('after any responses', () => {
  const OUTCOMES = ['refused', 'forbidden', 'accepted', 'unanswered'] as const;
  const step = fc.oneof(
    fc.record({ kind: fc.constant('ask' as const), stream: fc.constantFrom(...STREAM_NAMES) }),
    fc.record({
      kind: fc.constant('answer' as const),
      at: fc.nat(20),
      outcome: fc.constantFrom(...OUTCOMES),
    }),
    fc.record({ kind: fc.constant('pass' as const), minutes: fc.constantFrom(0, 1, 14, 15, 16, 30, 60, 61) }),
  );

  it('after any responses, every stream sends a request within the longest delay if the service accepts all', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), fc.boolean(), (steps, respondsLate) => {
        const { breaker, pass } = createFixture();
        const underway: Permit[] = [];
        for (const one of steps) {
          if (one.kind === 'pass') pass(one.minutes * MINUTE_MS);
          if (one.kind === 'ask') {
            const permit = breaker.admit(one.stream);
            if (permit !== undefined) underway.push(permit);
          }
          if (one.kind === 'answer') {
            const [permit] = underway.splice(one.at % Math.max(1, underway.length), 1);
            if (one.outcome === 'refused') permit?.authFailed(refused);
            if (one.outcome === 'forbidden') permit?.authFailed(forbidden);
            if (one.outcome === 'accepted') permit?.accepted();
            if (one.outcome === 'unanswered') permit?.noResponse();
          }
        }
        // From here on everything is accepted; what was under way is answered now or hangs for ever.
        if (respondsLate) for (const permit of underway) permit.accepted();
        const asked = new Set<StreamName>();
        for (let ms = 0; ms <= TRIAL_DELAYS.mostMs; ms += MINUTE_MS) {
          for (const stream of STREAM_NAMES) {
            const permit = breaker.admit(stream);
            if (permit === undefined) continue;
            asked.add(stream);
            permit.accepted();
          }
          pass(MINUTE_MS);
        }
        expect([...asked].sort()).toEqual([...STREAM_NAMES].sort());
        expect(breaker.openCircuits).toEqual([]);
      }),
      { numRuns: 2_000 },
    );
  });
});
