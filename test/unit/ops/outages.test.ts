import { describe, expect, it } from 'vitest';
import { createOutageLog, WATCH } from '../../../src/ops/outage-log.ts';
import { createRefusalGate } from '../../../src/ops/refusal-gate.ts';
import { SafetySyncError } from '../../../src/shared/errors.ts';
import type { Logger } from '../../../src/shared/logger.ts';
import { HOUR_MS, MINUTE_MS } from '../../../src/shared/time.ts';
import { NOON } from '../../support/test-clock.ts';

function createTime() {
  const time = { passedMs: 0 };
  return { time, clock: { now: () => NOON + time.passedMs, monotonicMs: () => time.passedMs } };
}

function createListener() {
  const heard: { level: string; text: string; fields: Record<string, unknown> }[] = [];
  const hear = (level: string) => (fields: Record<string, unknown>, text: string) =>
    heard.push({ level, text, fields });
  const log = {
    error: hear('error'),
    info: hear('info'),
    debug: hear('debug'),
    warn: hear('warn'),
  } as unknown as Logger;
  return { heard, log };
}

const unreachable = new SafetySyncError('network_error', 'connect ECONNREFUSED');
const databaseGone = new SafetySyncError('database_unreachable', 'PostgreSQL: connect ECONNREFUSED');

describe('an outage', () => {
  it('is told once as an error and its end once, with its duration and the number of failed runs', () => {
    const { time, clock } = createTime();
    const { heard, log } = createListener();
    const outages = createOutageLog({ log, clock });
    for (let firing = 0; firing < 8; firing += 1) {
      for (const stream of ['resources', 'followups'])
        expect(outages.noteFailure(stream, unreachable)).toBe(true);
      time.passedMs += 15 * MINUTE_MS;
    }
    outages.noteAnswer('service', 'resources');
    expect(heard.map(({ level }) => level)).toEqual(['error']);
    outages.noteAnswer('service', 'followups');
    expect(heard.map(({ level }) => level)).toEqual(['error', 'info']);
    expect(heard[1]).toMatchObject({
      text: 'the service is back after 2 h 0 min; 16 runs failed meanwhile',
      fields: { outage: 'service', duration_ms: 2 * HOUR_MS, failed_runs: 16 },
    });
    expect(outages.current('service')).toBeUndefined();
  });

  it('of one stream goes on while the others are answered', () => {
    const outages = createOutageLog({ ...createListener(), ...createTime() });
    outages.noteFailure('followups', unreachable);
    outages.noteAnswer('service', 'resources');
    expect(outages.current('service')).toMatchObject({ failedRuns: 1, code: 'network_error' });
  });

  it('of the database ends with its first answer, and looking at it counts as no run', () => {
    const { heard, log } = createListener();
    const outages = createOutageLog({ log, ...createTime() });
    outages.noteFailure(WATCH, databaseGone);
    outages.noteFailure('followups', databaseGone);
    outages.noteAnswer('database', WATCH);
    expect(heard.map(({ text }) => text).at(-1)).toMatch(
      /^the database is back after .*; 1 run failed meanwhile$/,
    );
  });

  it('is nothing that the service or the data did wrong', () => {
    const { heard, log } = createListener();
    const outages = createOutageLog({ log, ...createTime() });
    expect(outages.noteFailure('users', new SafetySyncError('parameter_invalid', 'no'))).toBe(false);
    expect(heard).toEqual([]);
  });
});

describe('refused credentials', () => {
  const refused = new SafetySyncError('token_inactive', 'inactive');

  it('hold every stream, let one try through after 15 minutes, then 30, then an hour, then every hour', () => {
    const { time, clock } = createTime();
    const gate = createRefusalGate(clock);
    expect(gate.noteRefused('resources', refused)).toBe(15 * MINUTE_MS);
    for (const minutes of [15, 30, 60, 60]) {
      time.passedMs += minutes * MINUTE_MS - 1_000;
      expect(gate.admits('followups')).toBe(false);
      time.passedMs += 1_000;
      expect(gate.admits('followups')).toBe(true);
      expect(gate.admits('users')).toBe(false);
      expect(gate.noteRefused('followups', refused)).toBe(Math.min(60, minutes * 2) * MINUTE_MS);
    }
    expect(gate.refusals).toMatchObject([{ holdsAll: true, code: 'token_inactive', sinceMs: NOON }]);
  });

  it('wait no longer because the runs of one firing are refused together', () => {
    const gate = createRefusalGate(createTime().clock);
    gate.noteRefused('resources', refused);
    expect(gate.noteRefused('followups', refused)).toBeUndefined();
    expect(gate.noteAccepted('equipments')).toBe('was_open');
    expect(gate.admits('equipments')).toBe(false);
  });

  it('are forgotten when the try is accepted', () => {
    const { time, clock } = createTime();
    const gate = createRefusalGate(clock);
    gate.noteRefused('resources', refused);
    time.passedMs += 15 * MINUTE_MS;
    expect(gate.admits('resources')).toBe(true);
    expect(gate.noteAccepted('resources')).toBe('opened');
    expect(gate.admits('followups')).toBe(true);
    expect(gate.refusals).toEqual([]);
  });

  it('are tried again in a minute when the try never got as far as asking', () => {
    const { time, clock } = createTime();
    const gate = createRefusalGate(clock);
    gate.noteRefused('resources', refused);
    time.passedMs += 15 * MINUTE_MS;
    gate.admits('resources');
    expect(gate.noteUnknown('resources')).toBe(MINUTE_MS);
    expect(gate.noteUnknown('followups')).toBeUndefined();
    time.passedMs += MINUTE_MS;
    expect(gate.admits('resources')).toBe(true);
  });

  it('for want of a permission hold only the stream that needs it', () => {
    const gate = createRefusalGate(createTime().clock);
    gate.noteRefused('equipments', new SafetySyncError('token_permission', 'no right'));
    expect(gate.admits('equipments')).toBe(false);
    expect(gate.admits('resources')).toBe(true);
    expect(gate.refusals).toMatchObject([{ stream: 'equipments', holdsAll: false }]);
  });
});
