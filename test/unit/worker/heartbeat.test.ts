import { afterEach, beforeEach, expect, it } from 'vitest';
import { createHeartbeat } from '../../../src/operate/worker/heartbeat.ts';
import type { Logger } from '../../../src/shared/logger.ts';
import { MINUTE_MS } from '../../../src/shared/time.ts';
import { HOOK_SECRET, type HookServer, startHookServer } from '../../support/hook-server.ts';

let hook: HookServer;
beforeEach(async () => {
  hook = await startHookServer();
});
afterEach(() => hook.close());

function createFixture() {
  const lines: string[] = [];
  const hear = (level: string) => (text: string) => void lines.push(`${level}: ${text}`);
  const log = { debug: hear('debug'), info: hear('info'), warn: hear('warn') } as unknown as Logger;
  const fixture = { isFresh: true, passedMs: 0, lines };
  const clock = { now: () => fixture.passedMs, monotonicMs: () => fixture.passedMs };
  const look = createHeartbeat({ log, clock }, hook.url, () => fixture.isFresh);
  const heartbeat = () => look(new AbortController().signal);
  return Object.assign(fixture, { heartbeat });
}

it('a heartbeat is one GET, sent at most once a minute and only while every stream is fresh', async () => {
  const fixture = createFixture();
  for (const [passedMs, isFresh, pings] of [
    [0, false, 0],
    [1, true, 1],
    [MINUTE_MS, true, 1],
    [MINUTE_MS + 1, true, 2],
    [3 * MINUTE_MS, false, 2],
    [4 * MINUTE_MS, true, 3],
  ] as const) {
    Object.assign(fixture, { passedMs, isFresh });
    await fixture.heartbeat();
    expect(hook.pings).toBe(pings);
  }
  expect([hook.bodies, fixture.lines]).toEqual([[], []]);
});

it('a heartbeat that is not accepted is logged once without its URL, and its next acceptance is logged once', async () => {
  const fixture = createFixture();
  const look = async (answer: number): Promise<void> => {
    hook.answer = answer;
    await fixture.heartbeat();
    fixture.passedMs += MINUTE_MS;
  };
  for (const answer of [404, 500, 302, 200, 200]) await look(answer);
  expect(hook.pings).toBe(5);
  await hook.close();
  await look(200);
  expect(fixture.lines.map((line) => line.replace(/127[\d.:]+\d/, 'HOST'))).toEqual([
    'warn: the heartbeat was not accepted by HOST: HTTP 404; retrying every minute. Check ALERT_HEARTBEAT_URL and the network.',
    expect.stringMatching(/^debug: .* HTTP 500;/),
    expect.stringMatching(/^debug: .* HTTP 302;/),
    'info: the heartbeat is accepted by HOST again',
    expect.stringMatching(/^warn: .*: it cannot be reached \(/),
  ]);
  expect(fixture.lines.join()).not.toContain(HOOK_SECRET);
  hook = await startHookServer();
});
