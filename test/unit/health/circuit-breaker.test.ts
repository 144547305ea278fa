import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  createCircuitBreaker,
  TRIAL_DELAYS,
  type CircuitBreaker,
  type Ticket,
} from '../../../src/health/circuit-breaker.ts';
import { SafetySyncError } from '../../../src/shared/errors.ts';
import { HOUR_MS, MINUTE_MS } from '../../../src/shared/time.ts';
import type { StreamName } from '../../../src/streams/stream.ts';
import { STREAM_NAMES } from '../../../src/streams/index.ts';
import { NOON } from '../../support/test-clock.ts';

const refused = new SafetySyncError('token_inactive', 'inactive');
const forbidden = new SafetySyncError('token_permission', 'no right');

function createStage() {
  let passedMs = 0;
  const gate = createCircuitBreaker({ now: () => NOON + passedMs, monotonicMs: () => passedMs });
  return { gate, pass: (ms: number) => void (passedMs += ms) };
}

function ticketOf(gate: CircuitBreaker, stream: StreamName): Ticket {
  const ticket = gate.admit(stream);
  if (ticket === undefined) throw new Error(`${stream} is held`);
  return ticket;
}

describe('refused credentials', () => {
  it('hold every stream, let one try through after 15 minutes, then 30, then an hour, then every hour', () => {
    const { gate, pass } = createStage();
    expect(ticketOf(gate, 'resources').refused(refused)).toEqual({
      opened: null,
      held: 'all',
      againMs: 15 * MINUTE_MS,
    });
    for (const minutes of [15, 30, 60, 60]) {
      pass(minutes * MINUTE_MS - 1_000);
      expect(gate.admit('followups')).toBeUndefined();
      pass(1_000);
      const ticket = ticketOf(gate, 'followups');
      expect(gate.admit('users')).toBeUndefined();
      expect(ticket.refused(refused).againMs).toBe(Math.min(60, minutes * 2) * MINUTE_MS);
    }
    expect(gate.openCircuits).toMatchObject([{ holdsAll: true, code: 'token_inactive', sinceMs: NOON }]);
  });

  it('wait no longer because the runs of one firing are refused together', () => {
    const { gate } = createStage();
    const [one, two, three] = [
      ticketOf(gate, 'resources'),
      ticketOf(gate, 'followups'),
      ticketOf(gate, 'equipments'),
    ];
    one.refused(refused);
    expect(two.refused(refused).againMs).toBeUndefined();
    expect(three.accepted().opened).toBeNull();
    expect(gate.admit('equipments')).toBeUndefined();
  });

  it('are forgotten when the try is accepted', () => {
    const { gate, pass } = createStage();
    ticketOf(gate, 'resources').refused(refused);
    pass(15 * MINUTE_MS);
    expect(ticketOf(gate, 'resources').accepted().opened).toBe('all');
    expect(gate.admit('followups')).toBeDefined();
    expect(gate.openCircuits).toEqual([]);
  });

  it('are tried again in a minute when the try never got as far as asking', () => {
    const { gate, pass } = createStage();
    const early = ticketOf(gate, 'followups');
    ticketOf(gate, 'resources').refused(refused);
    pass(15 * MINUTE_MS);
    const ticket = ticketOf(gate, 'resources');
    expect(early.unanswered().againMs).toBeUndefined();
    expect(ticket.unanswered()).toEqual({ opened: null, held: 'all', againMs: MINUTE_MS });
    expect(gate.admit('followups')).toBeUndefined();
    pass(MINUTE_MS);
    expect(gate.admit('followups')).toBeDefined();
  });

  it('for want of a permission hold only the stream that needs it', () => {
    const { gate, pass } = createStage();
    expect(ticketOf(gate, 'equipments').refused(forbidden)).toMatchObject({
      held: 'stream',
      againMs: 15 * MINUTE_MS,
    });
    expect(gate.admit('equipments')).toBeUndefined();
    expect(gate.admit('resources')).toBeDefined();
    expect(gate.openCircuits).toMatchObject([{ stream: 'equipments', holdsAll: false }]);
    pass(15 * MINUTE_MS);
    expect(ticketOf(gate, 'equipments').accepted().opened).toBe('stream');
    expect(gate.openCircuits).toEqual([]);
  });
});

describe('credentials that come back in steps', () => {
  it('a token that is active again with one right less: the stream without the right is held, the others go', () => {
    const { gate, pass } = createStage();
    ticketOf(gate, 'resources').refused(refused);
    pass(15 * MINUTE_MS);
    expect(ticketOf(gate, 'resources').refused(forbidden)).toEqual({
      opened: 'all',
      held: 'stream',
      againMs: 15 * MINUTE_MS,
    });
    expect(gate.admit('followups')).toBeDefined();
    expect(gate.admit('resources')).toBeUndefined();
    pass(15 * MINUTE_MS);
    expect(ticketOf(gate, 'resources').accepted().opened).toBe('stream');
  });

  it('a stream without a right that is told that the token is inactive goes when all go', () => {
    const { gate, pass } = createStage();
    ticketOf(gate, 'equipments').refused(forbidden);
    pass(15 * MINUTE_MS);
    expect(ticketOf(gate, 'equipments').refused(refused)).toMatchObject({ held: 'all', opened: null });
    expect(gate.admit('equipments')).toBeUndefined();
    pass(15 * MINUTE_MS);
    expect(ticketOf(gate, 'followups').accepted().opened).toBe('all');
    expect(ticketOf(gate, 'equipments').accepted().opened).toBe('stream');
    expect(gate.openCircuits).toEqual([]);
  });

  it('a try that is accepted while another stream was refused opens its own stream', () => {
    const { gate, pass } = createStage();
    const other = ticketOf(gate, 'followups');
    ticketOf(gate, 'equipments').refused(forbidden);
    pass(15 * MINUTE_MS);
    const attempt = ticketOf(gate, 'equipments');
    other.refused(refused);
    expect(attempt.accepted().opened).toBe('stream');
    expect(gate.openCircuits).toMatchObject([{ stream: 'followups', holdsAll: true }]);
  });

  it('a try that hangs is waited for no longer than the longest delay', () => {
    const { gate, pass } = createStage();
    ticketOf(gate, 'resources').refused(refused);
    pass(15 * MINUTE_MS);
    const hanging = ticketOf(gate, 'resources');
    pass(HOUR_MS - MINUTE_MS);
    expect(gate.admit('followups')).toBeUndefined();
    pass(MINUTE_MS);
    expect(ticketOf(gate, 'followups').refused(refused).againMs).toBe(30 * MINUTE_MS);
    // Its run was let through before the newest refusal: too old to say anything.
    expect(hanging.accepted().opened).toBeNull();
    expect(gate.admit('followups')).toBeUndefined();
  });
});

describe('whatever was answered before', () => {
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

  it('a service that accepts everything gets every stream asked within the longest delay', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), fc.boolean(), (steps, answersLate) => {
        const { gate, pass } = createStage();
        const underway: Ticket[] = [];
        for (const one of steps) {
          if (one.kind === 'pass') pass(one.minutes * MINUTE_MS);
          if (one.kind === 'ask') {
            const ticket = gate.admit(one.stream);
            if (ticket !== undefined) underway.push(ticket);
          }
          if (one.kind === 'answer') {
            const [ticket] = underway.splice(one.at % Math.max(1, underway.length), 1);
            if (one.outcome === 'refused') ticket?.refused(refused);
            if (one.outcome === 'forbidden') ticket?.refused(forbidden);
            if (one.outcome === 'accepted') ticket?.accepted();
            if (one.outcome === 'unanswered') ticket?.unanswered();
          }
        }
        // From here on everything is accepted; what was under way is answered now or hangs for ever.
        if (answersLate) for (const ticket of underway) ticket.accepted();
        const asked = new Set<StreamName>();
        for (let ms = 0; ms <= TRIAL_DELAYS.mostMs; ms += MINUTE_MS) {
          for (const stream of STREAM_NAMES) {
            const ticket = gate.admit(stream);
            if (ticket === undefined) continue;
            asked.add(stream);
            ticket.accepted();
          }
          pass(MINUTE_MS);
        }
        expect([...asked].sort()).toEqual([...STREAM_NAMES].sort());
        expect(gate.openCircuits).toEqual([]);
      }),
      { numRuns: 2_000 },
    );
  });
});
