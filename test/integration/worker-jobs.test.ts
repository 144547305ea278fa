/** A worker and the results of its runs: timers alone trigger the streams, in a time of the test. */
import { expect, it } from 'vitest';
import { createApp } from '../../src/app.ts';
import { loadConfig } from '../../src/config/load-config.ts';
import { createMetrics } from '../../src/operate/status/metrics.ts';
import { createAccountHealth } from '../../src/operate/health/account-health.ts';
import { createOutageLog } from '../../src/operate/health/outage-log.ts';
import type { Logger } from '../../src/shared/logger.ts';
import { HOUR_MS, MINUTE_MS } from '../../src/shared/time.ts';
import { STREAM_NAMES } from '../../src/engine/streams/index.ts';
import type { StreamName } from '../../src/engine/streams/stream.ts';
import { createAccountRunner } from '../../src/operate/worker/account-runner.ts';
import { untilTestEnds } from '../support/lifetime.ts';
import { openFreeStream } from '../support/open-stream.ts';
import { NOON } from '../support/test-clock.ts';
import { createTestWorker, serviceEnv } from '../support/worker.ts';

const SIZE = { followups: 5, employees: 3, equipment: 4, resources: 3, users: 4 };

async function createStage(scheduled: readonly StreamName[] = STREAM_NAMES) {
  const { sandbox, databaseUrl } = untilTestEnds(await createTestWorker({ sandbox: { size: SIZE } }));
  const config = loadConfig(
    {
      ...serviceEnv({ sandbox, databaseUrl }),
      RETRY_ATTEMPTS: '0',
      LOG_LEVEL: 'silent',
    },
    { needsService: true, isTerminal: false },
  );
  const signal = new AbortController().signal;
  const app = untilTestEnds(await createApp({ config, signal, say: () => undefined }));
  const [made] = app.accounts;
  if (made === undefined) throw new Error('no account');

  const lines: { level: string; text: string }[] = [];
  const hear = (level: string) => (_: unknown, text: string) => void lines.push({ level, text });
  const log = { debug: hear('debug'), info: hear('info'), warn: hear('warn'), error: hear('error') };

  let passedMs = 0;
  const clock = { now: () => NOON + passedMs, monotonicMs: () => passedMs };
  const due: { stream: StreamName; atMs: number }[] = [];
  const heard = { log: log as unknown as Logger, clock };
  const database = createOutageLog({ dependency: 'database', ...heard });
  const health = createAccountHealth({ accountId: made.id, ...heard, streams: scheduled, database });
  const account = { ...made, api: made.api, log: heard.log, health };
  const runner = createAccountRunner({
    account,
    clock,
    metrics: createMetrics({ accountIds: [account.id] }),
    monitor: { refreshSoon: () => undefined, recordResponse: () => undefined },
    onNewer: () => undefined,
  });
  const runNow = async (stream: StreamName, kind: 'sync' | 'reconcile' = 'sync') => {
    const job = { accountId: account.id, stream, kind, triggeredMs: passedMs, periodMs: null };
    for (const { stream: other, inMs } of await runner.run(job))
      due.push({ stream: other, atMs: passedMs + inMs });
  };

  return {
    sandbox,
    databaseUrl,
    health,
    lines,
    run: runNow,
    /** Lets this much time pass; what is due in it is done one after the other. */
    async pass(ms: number) {
      const endMs = passedMs + ms;
      for (;;) {
        due.sort((one, other) => one.atMs - other.atMs);
        const [next] = due;
        if (next === undefined || next.atMs > endMs) break;
        due.shift();
        passedMs = Math.max(passedMs, next.atMs);
        await runNow(next.stream);
      }
      passedMs = endMs;
    },
    /** Methods requested since the last call. */
    asked() {
      const methods = new Set(sandbox.requests.map(({ method }) => method));
      sandbox.requests.length = 0;
      return methods;
    },
    logged: (level: string) => lines.filter((line) => line.level === level).map(({ text }) => text),
  };
}

it('if a token is active again without the right to one stream, the other streams run at once and that stream when the right is back', async () => {
  const stage = await createStage();
  const { sandbox } = stage;
  sandbox.access.set('inactive');
  for (const stream of STREAM_NAMES) await stage.run(stream);
  expect(stage.logged('error')).toEqual([
    expect.stringMatching(/^THE SERVICE REFUSES THE CREDENTIALS \(token_inactive\): nothing is requested/),
  ]);

  sandbox.access.set('active');
  sandbox.faults.next(({ method }) => method === 'resources.list', {
    kind: 'error',
    error: 'token_permission',
  });
  stage.asked();
  await stage.pass(15 * MINUTE_MS);
  expect([...stage.asked()]).toEqual(
    expect.arrayContaining(['resources.list', 'followups.list', 'equipments.list', 'users.info']),
  );
  expect(stage.logged('error').slice(1)).toEqual([
    expect.stringMatching(/\(token_permission\): resources is not requested; the next try is in 15 min\./),
  ]);
  expect(stage.logged('info').filter((text) => /credentials again/.test(text))).toHaveLength(1);

  await stage.pass(15 * MINUTE_MS);
  expect(stage.asked()).toContain('resources.list');
  expect(stage.logged('info')).toContain('the service lets the token read resources again');
});

it('a try without a request is followed by a try of another stream within a minute', async () => {
  const stage = await createStage();
  for (const stream of STREAM_NAMES) await stage.run(stream);
  stage.sandbox.access.set('inactive');
  await stage.run('resources');
  stage.sandbox.access.set('active');
  await stage.pass(15 * MINUTE_MS - 10);
  // All users have names and are not due for days: this run sends no request.
  await stage.run('users');
  stage.asked();
  await stage.pass(MINUTE_MS);
  expect(stage.asked()).toContain('resources.list');
  expect(stage.logged('info')).toContain(
    'the service accepts the credentials again; every stream is synced now',
  );
});

it('a service that accepts the credentials again is tried within an hour without any scheduled run', async () => {
  const stage = await createStage();
  stage.sandbox.access.set('inactive');
  for (const stream of STREAM_NAMES) await stage.run(stream);
  await stage.pass(5 * HOUR_MS);
  stage.sandbox.access.set('active');
  stage.asked();
  await stage.pass(HOUR_MS);
  expect(stage.asked()).toContain('followups.list');
  expect(stage.logged('info')).toContain(
    'the service accepts the credentials again; every stream is synced now',
  );
});

it('a run that is skipped because another worker holds the stream is logged at level debug only', async () => {
  const stage = await createStage(['resources']);
  await openFreeStream(stage.databaseUrl, 'resources');
  await stage.run('resources');
  expect(stage.lines).toEqual([
    { level: 'debug', text: 'resources: skipped, another run of this stream is under way' },
  ]);
});
