import { describe, expect, it } from 'vitest';
import { noCounts } from '../../../src/engine/control-tables/record-counts.ts';
import { createAccountHealth } from '../../../src/operate/health/account-health.ts';
import { createOutageLog } from '../../../src/operate/health/outage-log.ts';
import { SafetySyncError } from '../../../src/shared/errors.ts';
import type { Logger } from '../../../src/shared/logger.ts';
import { HOUR_MS, MINUTE_MS } from '../../../src/shared/time.ts';
import { STREAM_NAMES } from '../../../src/engine/streams/index.ts';
import type { StreamName } from '../../../src/engine/streams/stream.ts';
import { NO_RECORD, type RunResult } from '../../../src/engine/sync/run.ts';
import { NOON } from '../../support/test-clock.ts';

const unreachable = new SafetySyncError('network_error', 'connect ECONNREFUSED');
const databaseGone = new SafetySyncError('database_unreachable', 'PostgreSQL: connect ECONNREFUSED');
const inactive = new SafetySyncError('token_inactive', 'inactive');
const forbidden = new SafetySyncError('token_permission', 'no right');

const resultOf = (stream: StreamName, requests = 1) => ({
  record: NO_RECORD,
  stream,
  counts: noCounts(),
  requests,
  ...{ retries: 0, throttled: 0, durationMs: 1, repaired: null },
});
const answered = (stream: StreamName): RunResult => ({
  ...resultOf(stream),
  outcome: 'succeeded',
  note: null,
});
const unasked = (stream: StreamName): RunResult => ({ ...answered(stream), requests: 0 });
const failed = (stream: StreamName, error: SafetySyncError): RunResult => ({
  ...resultOf(stream),
  outcome: 'failed',
  error,
});

/** The account's runs: the test sets their results, and what follows from them begins in time. */
function createFixture() {
  const time = { passedMs: 0 };
  const clock = { now: () => NOON + time.passedMs, monotonicMs: () => time.passedMs };
  const heard: { level: string; text: string }[] = [];
  const hear = (level: string) => (_: unknown, text: string) => heard.push({ level, text });
  const log = { error: hear('error'), info: hear('info') } as unknown as Logger;
  const token = { isNew: false };
  const health = createAccountHealth({
    log,
    clock,
    streams: STREAM_NAMES,
    hasNewToken: () => token.isNew,
  });
  const due: { stream: StreamName; atMs: number }[] = [];
  const runs = {
    health,
    database: createOutageLog({ dependency: 'database', log, clock }),
    token,
    resultOf: answered,
    /** Streams that were admitted. */
    begun: [] as StreamName[],
    run(stream: StreamName, result: RunResult = runs.resultOf(stream)): void {
      time.passedMs += 1;
      const end = health.admit(stream);
      if (end === undefined) return;
      runs.begun.push(stream);
      time.passedMs += 1;
      due.push(...end(result).map((next) => ({ stream: next.stream, atMs: time.passedMs + next.inMs })));
    },
    /** They begin together. */
    runAll(): void {
      time.passedMs += 1;
      const ends = STREAM_NAMES.flatMap((stream) => health.admit(stream) ?? []);
      time.passedMs += 1;
      STREAM_NAMES.forEach((stream, at) => {
        const next = ends[at]?.(runs.resultOf(stream)) ?? [];
        due.push(...next.map((one) => ({ stream: one.stream, atMs: time.passedMs + one.inMs })));
      });
    },
    pass(ms: number): void {
      const endMs = time.passedMs + ms;
      for (;;) {
        const [next] = due.sort((one, other) => one.atMs - other.atMs);
        if (next === undefined || next.atMs > endMs) break;
        due.shift();
        time.passedMs = Math.max(time.passedMs, next.atMs);
        runs.run(next.stream);
      }
      time.passedMs = Math.max(time.passedMs, endMs);
    },
    heard: (level: string) => heard.flatMap((line) => (line.level === level ? [line.text] : [])),
  };
  return runs;
}

describe('a service that cannot be used', () => {
  it('is asked at every tick, and its outage is logged once at the beginning and once at the end', () => {
    const runs = createFixture();
    for (let tick = 0; tick < 8; tick += 1) {
      for (const stream of ['resources', 'followups'] as const) runs.run(stream, failed(stream, unreachable));
      runs.pass(15 * MINUTE_MS);
    }
    expect(runs.begun).toHaveLength(16);
    runs.run('resources');
    expect(runs.health.outage).toMatchObject({
      dependency: 'service',
      failedRuns: 16,
      code: 'network_error',
    });
    runs.run('followups');
    expect(runs.health.outage).toBeUndefined();
    expect(runs.heard('error')).toEqual([
      expect.stringMatching(/^the service cannot be used \(network_error/),
    ]);
    expect(runs.heard('info')).toEqual(['the service is back after 2 h; 16 runs failed meanwhile']);
  });

  it('is not meant by an error of the request or of the database', () => {
    const runs = createFixture();
    runs.run('users', failed('users', new SafetySyncError('parameter_invalid', 'no')));
    runs.run('users', failed('users', databaseGone));
    expect(runs.health.outage).toBeUndefined();
    expect(runs.heard('error')).toEqual([]);
  });
});

it('a database that is away is logged with its cause, although the first run only lost its session', () => {
  const { database, heard } = createFixture();
  database.recordFailure(new SafetySyncError('lock_lost', 'the connection broke'), true);
  database.recordFailure(databaseGone);
  expect(database.current).toMatchObject({ code: 'database_unreachable', failedRuns: 1 });
  database.recordResponse();
  database.recordResponse();
  expect([heard('error').length, heard('info').length]).toEqual([1, 1]);
});

describe('refused credentials', () => {
  it('stop all requests but one after 15 minutes, then after 30, then every hour', () => {
    const runs = createFixture();
    runs.resultOf = (stream) => failed(stream, inactive);
    runs.runAll();
    expect(runs.health.refusals).toMatchObject([
      { holdsAll: true, code: 'token_inactive', sinceMs: NOON + 2, nextTryMs: NOON + 2 + 15 * MINUTE_MS },
    ]);
    for (const minutes of [15, 30, 60, 60]) {
      runs.begun = [];
      runs.pass(minutes * MINUTE_MS - 10_000);
      for (const stream of STREAM_NAMES) runs.run(stream);
      expect(runs.begun).toEqual([]);
      runs.pass(11_000);
      for (const stream of STREAM_NAMES) runs.run(stream);
      expect(runs.begun).toHaveLength(1);
    }
    expect(runs.heard('error')).toHaveLength(5);
    expect(runs.heard('error')[0]).toMatch(
      /^THE SERVICE REFUSES THE CREDENTIALS \(token_inactive\): nothing is requested; the next try is in 15 min\./,
    );
  });

  it('end with the first accepted request, and all other streams follow at once', () => {
    const runs = createFixture();
    runs.resultOf = (stream) => failed(stream, inactive);
    runs.runAll();
    runs.pass(5 * HOUR_MS);
    runs.resultOf = answered;
    runs.begun = [];
    runs.pass(HOUR_MS);
    expect(runs.begun.toSorted()).toEqual(STREAM_NAMES.toSorted());
    expect(runs.health.refusals).toEqual([]);
    expect(runs.heard('info')).toEqual([
      'the service accepts the credentials again; every stream is synced now',
    ]);
  });

  it('do not end with a run that began before they were refused', () => {
    const runs = createFixture();
    const endOfEarlier = runs.health.admit('followups');
    runs.run('resources', failed('resources', inactive));
    endOfEarlier?.(answered('followups'));
    expect(runs.health.refusals).toHaveLength(1);
  });

  it('are tried at the next tick when the token has changed', () => {
    const runs = createFixture();
    runs.run('resources', failed('resources', inactive));
    runs.token.isNew = true;
    runs.run('followups');
    expect(runs.health.refusals).toEqual([]);
  });

  it('for one stream stop that stream alone, and prove the token valid for the others', () => {
    const runs = createFixture();
    runs.resultOf = (stream) => failed(stream, inactive);
    runs.runAll();
    runs.resultOf = (stream) => (stream === 'resources' ? failed(stream, forbidden) : answered(stream));
    runs.begun = [];
    runs.pass(15 * MINUTE_MS + 1_000);
    expect(runs.begun.toSorted()).toEqual(STREAM_NAMES.toSorted());
    expect(runs.health.refusals).toMatchObject([{ stream: 'resources', holdsAll: false }]);
    expect(runs.heard('error').at(-1)).toMatch(
      /\(token_permission\): resources is not requested; the next try is in 15 min\./,
    );
    runs.resultOf = answered;
    runs.begun = [];
    runs.pass(16 * MINUTE_MS);
    expect(runs.begun).toEqual(['resources']);
    expect(runs.heard('info').at(-1)).toBe('the service lets the token read resources again');
  });

  it('are tried with another stream a minute later when the first one had nothing to request', () => {
    const runs = createFixture();
    runs.run('resources', failed('resources', inactive));
    runs.resultOf = (stream) => (stream === 'resources' ? unasked(stream) : answered(stream));
    runs.begun = [];
    runs.pass(15 * MINUTE_MS);
    expect(runs.begun).toEqual(['resources']);
    runs.pass(MINUTE_MS + 1_000);
    expect(runs.begun.slice(1).toSorted()).toEqual(STREAM_NAMES.toSorted());
  });
});
