import { describe, expect, it } from 'vitest';
import { createOutageLog, WATCH } from '../../../src/health/outage-log.ts';
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
      text: 'the service is back after 2 h; 16 runs failed meanwhile',
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

  it('that only a sweep of users met ends when others are answered and users has nothing to ask', () => {
    const { heard, log } = createListener();
    const outages = createOutageLog({ log, ...createTime() });
    outages.noteFailure('users', unreachable);
    outages.noteUnasked('users');
    expect(outages.current('service')).toMatchObject({ failedRuns: 1 });
    outages.noteAnswer('service', 'resources');
    expect(outages.current('service')).toMatchObject({ failedRuns: 1 });
    outages.noteUnasked('users');
    expect(outages.current('service')).toBeUndefined();
    expect(heard.map(({ level }) => level)).toEqual(['error', 'info']);
  });

  it('goes on for the streams that fail, whoever has nothing to ask', () => {
    const outages = createOutageLog({ ...createListener(), ...createTime() });
    outages.noteFailure('followups', unreachable);
    outages.noteFailure('users', unreachable);
    outages.noteAnswer('service', 'resources');
    outages.noteUnasked('users');
    expect(outages.current('service')).toMatchObject({ failedRuns: 2 });
    outages.noteAnswer('service', 'followups');
    expect(outages.current('service')).toBeUndefined();
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
