import { expect, it } from 'vitest';
import { STREAM_NAMES } from '../../../src/engine/streams/index.ts';
import type { StreamName } from '../../../src/engine/streams/stream.ts';
import { createRunMeter, type RunResult } from '../../../src/engine/sync/run.ts';
import { createAccountHealth } from '../../../src/operate/worker/account-health.ts';
import { SafetySyncError } from '../../../src/shared/errors.ts';
import type { Logger } from '../../../src/shared/logger.ts';
import { HOUR_MS, MINUTE_MS } from '../../../src/shared/time.ts';
import { NOON } from '../../support/test-clock.ts';

const unreachable = new SafetySyncError('network_error', 'connect ECONNREFUSED');
const inactive = new SafetySyncError('token_inactive', 'inactive');
const forbidden = new SafetySyncError('token_permission', 'no right');

/** The account's runs: the test sets the error of each, and moves the time. */
function createFixture() {
  const time = { passedMs: 0, lastSuccessMs: 0 };
  const clock = { now: () => NOON + time.passedMs, monotonicMs: () => time.passedMs };
  const lines: string[] = [];
  const hear = (_: unknown, text: string) => void lines.push(text);
  const api = { hasNewToken: false };
  const log = { error: hear, info: hear } as unknown as Logger;
  const health = createAccountHealth(
    { log, scheduled: [...STREAM_NAMES], api },
    clock,
    () => time.lastSuccessMs,
  );
  return {
    ...{ health, time, api, lines },
    /** Whether the stream was requested, and the syncs that follow. */
    run: (stream: StreamName, error?: SafetySyncError, requests = 1) => {
      if (!health.mayRun(stream)) return null;
      const work = { ...createRunMeter(), stream, requests };
      const result: RunResult = {
        ...{ ...work, durationMs: 1 },
        ...(error === undefined ? { outcome: 'succeeded', note: null } : { outcome: 'failed', error }),
      };
      return health.end(result);
    },
  };
}

it('refused credentials stop all requests for 15 minutes, then for 30, then for an hour each', () => {
  const { run, time, lines, health } = createFixture();
  for (const minutes of [15, 30, 60, 60]) {
    expect(run('resources', inactive)).toEqual([{ stream: 'resources', inMs: minutes * MINUTE_MS }]);
    time.passedMs += minutes * MINUTE_MS - 1_000;
    expect(STREAM_NAMES.map((stream) => run(stream))).toEqual(STREAM_NAMES.map(() => null));
    time.passedMs += 1_000;
  }
  expect(health.refusals).toMatchObject([{ subject: '', code: 'token_inactive', sinceMs: NOON }]);
  expect(lines).toHaveLength(4);
});

it('the streams of one tick are refused once', () => {
  const { health, lines } = createFixture();
  const result = { outcome: 'failed', error: inactive, stream: 'users', requests: 1 } as RunResult;
  expect([health.end(result).length, health.end(result).length, lines.length]).toEqual([1, 0, 1]);
});

it('the first accepted request ends a refusal, and all other streams follow at once', () => {
  const { run, time, health } = createFixture();
  run('resources', inactive);
  time.passedMs += HOUR_MS;
  // Neither a run without a request nor one without a response says anything.
  expect(run('users', undefined, 0)).toEqual([]);
  expect(run('users', unreachable)).toEqual([]);
  expect(health.refusals).toHaveLength(1);
  const others = STREAM_NAMES.filter((stream) => stream !== 'followups');
  expect(run('followups')).toEqual(others.map((stream) => ({ stream, inMs: 0 })));
  expect(health.refusals).toEqual([]);
});

it('a success of another process after a refusal ends it; a refusal after that success begins anew', () => {
  const { run, time, health } = createFixture();
  run('resources', inactive);
  time.passedMs += MINUTE_MS;
  time.lastSuccessMs = NOON + time.passedMs;
  expect(health.refusals).toEqual([]);
  time.passedMs += MINUTE_MS;
  expect(run('users', inactive)).toEqual([{ stream: 'users', inMs: 15 * MINUTE_MS }]);
  expect(health.refusals).toMatchObject([{ sinceMs: NOON + 2 * MINUTE_MS }]);
});

it('a new token is tried at the next tick', () => {
  const { run, api } = createFixture();
  run('resources', inactive);
  expect(run('followups')).toBeNull();
  api.hasNewToken = true;
  expect(run('followups')).not.toBeNull();
});

it('a token that lacks the permission for a stream stops that stream alone', () => {
  const { run, time, health } = createFixture();
  expect(run('resources', forbidden)).toEqual([{ stream: 'resources', inMs: 15 * MINUTE_MS }]);
  expect([run('resources'), run('followups')]).toEqual([null, []]);
  expect(health.refusals).toMatchObject([{ subject: 'resources' }]);
  time.passedMs += 15 * MINUTE_MS;
  run('resources');
  expect(health.refusals).toEqual([]);
});
