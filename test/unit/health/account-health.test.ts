import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { noCounts } from '../../../src/engine/control-tables/record-counts.ts';
import { type AccountHealth, createAccountHealth } from '../../../src/operate/health/account-health.ts';
import { createOutageLog } from '../../../src/operate/health/outage-log.ts';
import { SafetySyncError } from '../../../src/shared/errors.ts';
import type { Logger } from '../../../src/shared/logger.ts';
import { HOUR_MS, MINUTE_MS } from '../../../src/shared/time.ts';
import { STREAM_NAMES } from '../../../src/engine/streams/index.ts';
import type { StreamName } from '../../../src/engine/streams/stream.ts';
import { NO_RECORD, type RunResult } from '../../../src/engine/sync/run.ts';
import { casesOf } from '../../support/proof.ts';
import { NOON } from '../../support/test-clock.ts';

function createFixture() {
  const time = { passedMs: 0 };
  const clock = { now: () => NOON + time.passedMs, monotonicMs: () => time.passedMs };
  const heard: { level: string; text: string; fields: Record<string, unknown> }[] = [];
  const hear = (level: string) => (fields: Record<string, unknown>, text: string) =>
    heard.push({ level, text, fields });
  const log = {
    error: hear('error'),
    info: hear('info'),
    debug: hear('debug'),
    warn: hear('warn'),
  } as unknown as Logger;
  const database = createOutageLog({ dependency: 'database', log, clock });
  const createHealth = (accountId = 'default') =>
    createAccountHealth({ accountId, log, clock, streams: STREAM_NAMES, database });
  const health = createHealth();
  const changes: boolean[] = [];
  health.onChange((isHealthy) => changes.push(isHealthy));
  return { time, heard, health, database, createHealth, changes };
}

const unreachable = new SafetySyncError('network_error', 'connect ECONNREFUSED');
const databaseGone = new SafetySyncError('database_unreachable', 'PostgreSQL: connect ECONNREFUSED');

function figures(stream: StreamName, requests: number) {
  const none = { retries: 0, throttled: 0, durationMs: 1, repaired: null };
  return { record: NO_RECORD, stream, counts: noCounts(), requests, ...none };
}
const answered = (stream: StreamName): RunResult => ({
  ...figures(stream, 1),
  outcome: 'succeeded',
  note: null,
});
const unasked = (stream: StreamName): RunResult => ({ ...answered(stream), requests: 0 });
const failed = (stream: StreamName, error: SafetySyncError): RunResult => ({
  ...figures(stream, 1),
  outcome: 'failed',
  error,
});

function end(health: AccountHealth, result: RunResult) {
  const permit = health.admit(result.stream);
  if (permit === undefined) throw new Error(`${result.stream} has an open circuit`);
  return permit.end(result, 'sync');
}

describe('an outage', () => {
  it('an outage is logged once as an error, and its end once, with duration and number of failed runs', () => {
    const { time, heard, health } = createFixture();
    for (let tick = 0; tick < 8; tick += 1) {
      for (const stream of ['resources', 'followups'] as const)
        expect(end(health, failed(stream, unreachable))).toEqual({ isLogged: true, nextSyncs: [] });
      time.passedMs += 15 * MINUTE_MS;
    }
    end(health, answered('resources'));
    expect(heard.map(({ level }) => level)).toEqual(['error']);
    end(health, answered('followups'));
    expect(heard.map(({ level }) => level)).toEqual(['error', 'info']);
    expect(heard[1]).toMatchObject({
      text: 'the service is back after 2 h; 16 runs failed meanwhile',
      fields: { outage: 'service', duration_ms: 2 * HOUR_MS, failed_runs: 16 },
    });
    expect(health.outage).toBeUndefined();
  });

  it('an outage begins with the first failed request, not at the end of the retries', () => {
    const { time, heard, health } = createFixture();
    time.passedMs = 5 * MINUTE_MS;
    end(health, failed('users', new SafetySyncError('network_error', 'reset', { repeatedForMs: 90_000 })));
    expect(health.outage).toMatchObject({ sinceMs: NOON + 5 * MINUTE_MS - 90_000 });
    time.passedMs += MINUTE_MS;
    end(health, answered('users'));
    expect(heard[1]).toMatchObject({ fields: { duration_ms: 150_000 } });
  });

  it('an outage met only by users ends when other streams get responses and users needs no request', () => {
    const { heard, health } = createFixture();
    end(health, failed('users', unreachable));
    end(health, unasked('users'));
    expect(health.outage).toMatchObject({ failedRuns: 1 });
    end(health, answered('resources'));
    expect(health.outage).toMatchObject({ failedRuns: 1 });
    end(health, unasked('users'));
    expect(health.outage).toBeUndefined();
    expect(heard.map(({ level }) => level)).toEqual(['error', 'info']);
  });

  it('an outage continues for the streams that fail, despite streams without requests', () => {
    const { health } = createFixture();
    end(health, failed('followups', unreachable));
    end(health, failed('users', unreachable));
    end(health, answered('resources'));
    end(health, unasked('users'));
    expect(health.outage).toMatchObject({ failedRuns: 2 });
    end(health, answered('followups'));
    expect(health.outage).toBeUndefined();
  });

  it('an outage of the database is one for all accounts, counts no checks as runs, and ends after a successful check and a stored run of each account', () => {
    const { heard, health, database, createHealth, time } = createFixture();
    const south = createHealth('south');
    database.recordFailure(databaseGone);
    time.passedMs += MINUTE_MS;
    expect(end(health, failed('followups', databaseGone)).isLogged).toBe(true);
    expect(end(south, failed('followups', databaseGone)).isLogged).toBe(true);
    expect(health.outage).toBeUndefined();
    // North is on a node of Citus that is there.
    end(health, answered('followups'));
    expect(database.current).toMatchObject({ sinceMs: NOON, failedRuns: 2 });
    database.recordResponse();
    expect(database.failing).toMatchObject([{ accountId: 'south', stream: 'followups' }]);
    expect(heard).toHaveLength(1);
    south.recordBegun('followups');
    expect(heard).toHaveLength(2);
    expect(heard[1]?.text).toBe('the database is back after 1 min; 2 runs failed meanwhile');
  });

  it('an outage of the database ends only with a check after its newest failure', () => {
    const { health, database } = createFixture();
    end(health, failed('followups', databaseGone));
    database.recordResponse();
    end(health, failed('followups', databaseGone));
    end(health, answered('followups'));
    expect(database.current).toMatchObject({ failedRuns: 2 });
    database.recordResponse();
    expect(database.current).toBeUndefined();
  });

  it('an outage of the database does not wait for a stream that is held because its credentials are refused', () => {
    const { health, database } = createFixture();
    end(health, failed('users', databaseGone));
    end(health, failed('resources', new SafetySyncError('token_inactive', 'inactive')));
    database.recordResponse();
    expect(database.failing).toHaveLength(1);
    expect(health.admit('users')).toBeUndefined();
    expect(database.current).toBeUndefined();
  });

  it('an outage gets the error code of a later failure if the first failure was a broken session', () => {
    const { health, database } = createFixture();
    end(health, failed('followups', new SafetySyncError('lock_lost', 'the connection broke')));
    database.recordFailure(databaseGone);
    expect(database.current).toMatchObject({ code: 'database_unreachable', failedRuns: 1 });
  });

  it('an error of the request or the data is no outage', () => {
    const { heard, health } = createFixture();
    expect(end(health, failed('users', new SafetySyncError('parameter_invalid', 'no'))).isLogged).toBe(false);
    expect(heard).toEqual([]);
  });
});

describe('after any results of runs', () => {
  const step = fc.record({
    stream: fc.constantFrom(...STREAM_NAMES),
    makes: fc.constantFrom(
      answered,
      unasked,
      (stream: StreamName) => failed(stream, unreachable),
      (stream: StreamName) => failed(stream, databaseGone),
      (stream: StreamName) => failed(stream, new SafetySyncError('token_inactive', 'inactive')),
      (stream: StreamName) => failed(stream, new SafetySyncError('token_permission', 'no right')),
    ),
    minutes: fc.constantFrom(0, 1, 15, 60),
  });

  it('after any results, an account is healthy if every stream gets a response within an hour, and each outage and its end is logged once', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
        const { time, heard, health, database, changes } = createFixture();
        for (const { stream, makes, minutes } of steps) {
          health.admit(stream)?.end(makes(stream), 'sync');
          time.passedMs += minutes * MINUTE_MS;
        }
        for (let minute = 0; minute <= 60; minute += 1) {
          for (const stream of STREAM_NAMES) health.admit(stream)?.end(answered(stream), 'sync');
          time.passedMs += MINUTE_MS;
        }
        database.recordResponse();
        expect(health.openCircuits).toEqual([]);
        expect([health.outage, database.current]).toEqual([undefined, undefined]);
        expect(changes.at(-1)).toBe(true);
        for (const dependency of ['service', 'database']) {
          const logged = heard.filter(({ fields }) => fields['outage'] === dependency);
          expect(logged.map(({ level }) => level)).toEqual(
            logged.map((_, index) => (index % 2 === 0 ? 'error' : 'info')),
          );
          expect(logged.length % 2).toBe(0);
        }
      }),
      { numRuns: casesOf({ few: 50, all: 200 }) },
    );
  });
});

describe('an account', () => {
  it('an account is unhealthy from the first retry until a run ends without an outage', () => {
    const { health, changes } = createFixture();
    health.recordRetry();
    end(health, failed('followups', unreachable));
    end(health, answered('resources'));
    expect(changes).toEqual([false, false, false]);
    end(health, answered('followups'));
    expect(changes).toEqual([false, false, false, true]);
    health.recordRetry();
    end(health, answered('resources'));
    expect(changes.slice(4)).toEqual([false, true]);
  });
});

describe('an account with refused credentials', () => {
  const inactive = new SafetySyncError('token_inactive', 'inactive');

  /** The account's runs: the test sets their results, and what follows from them begins in time. */
  function createRuns() {
    const { time, heard, health } = createFixture();
    const due: { stream: StreamName; atMs: number }[] = [];
    const runs = {
      resultOf: (stream: StreamName): RunResult => answered(stream),
      /** Streams that were admitted. */
      begun: [] as StreamName[],
      run(stream: StreamName) {
        const permit = health.admit(stream);
        if (permit === undefined) return;
        runs.begun.push(stream);
        const { nextSyncs } = permit.end(runs.resultOf(stream), 'sync');
        due.push(...nextSyncs.map((next) => ({ stream: next.stream, atMs: time.passedMs + next.inMs })));
      },
      runAll: () => STREAM_NAMES.forEach((stream) => runs.run(stream)),
      pass(ms: number) {
        const endMs = time.passedMs + ms;
        for (;;) {
          const [next] = due.sort((one, other) => one.atMs - other.atMs);
          if (next === undefined || next.atMs > endMs) break;
          due.shift();
          time.passedMs = Math.max(time.passedMs, next.atMs);
          runs.run(next.stream);
        }
        time.passedMs = endMs;
      },
      logged: (level: string) => heard.flatMap((line) => (line.level === level ? [line.text] : [])),
    };
    return runs;
  }

  it('if the token is active again without the right to one stream, the other streams run at once and that stream when the right is back', () => {
    const runs = createRuns();
    runs.resultOf = (stream) => failed(stream, inactive);
    runs.runAll();
    expect(runs.logged('error')).toEqual([
      expect.stringMatching(/^THE SERVICE REFUSES THE CREDENTIALS \(token_inactive\): nothing is requested/),
    ]);
    const forbidden = new SafetySyncError('token_permission', 'no right');
    runs.resultOf = (stream) => (stream === 'resources' ? failed(stream, forbidden) : answered(stream));
    runs.begun = [];
    runs.pass(15 * MINUTE_MS);
    expect(runs.begun.toSorted()).toEqual(STREAM_NAMES.toSorted());
    expect(runs.logged('error').slice(1)).toEqual([
      expect.stringMatching(/\(token_permission\): resources is not requested; the next try is in 15 min\./),
    ]);
    runs.resultOf = answered;
    runs.begun = [];
    runs.pass(15 * MINUTE_MS);
    expect(runs.begun).toEqual(['resources']);
    expect(runs.logged('info')).toEqual([
      'the service accepts the credentials again; every stream is synced now',
      'the service lets the token read resources again',
    ]);
  });

  it('a try without a request is followed by a try of another stream within a minute', () => {
    const runs = createRuns();
    runs.resultOf = (stream) => failed(stream, inactive);
    runs.run('resources');
    runs.resultOf = (stream) => (stream === 'users' ? unasked(stream) : answered(stream));
    runs.pass(15 * MINUTE_MS - 10);
    runs.run('users');
    runs.begun = [];
    runs.pass(MINUTE_MS);
    expect(runs.begun.toSorted()).toEqual(STREAM_NAMES.toSorted());
  });

  it('after hours, the account is tried within an hour without any scheduled run', () => {
    const runs = createRuns();
    runs.resultOf = (stream) => failed(stream, inactive);
    runs.runAll();
    runs.pass(5 * HOUR_MS);
    runs.resultOf = answered;
    runs.begun = [];
    runs.pass(HOUR_MS);
    expect(runs.begun.toSorted()).toEqual(STREAM_NAMES.toSorted());
  });
});
