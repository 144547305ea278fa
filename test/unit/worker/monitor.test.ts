import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { SafetySyncError } from '../../../src/shared/errors.ts';
import { createLogger } from '../../../src/shared/logger.ts';
import type { AccountsRead } from '../../../src/operate/status/read-accounts.ts';
import type { Clock } from '../../../src/shared/time.ts';
import { createMonitor, type Monitor, type MonitorOptions } from '../../../src/operate/worker/monitor.ts';

const clock: Clock = { now: () => Date.now(), monotonicMs: () => Date.now() };

const accountsRead: AccountsRead = {
  databaseNowMs: 0,
  readAtMs: 0,
  pendingMigrations: 0,
  arePendingViews: false,
  accounts: new Map(),
};
const after = async <T>(ms: number, value: T): Promise<T> =>
  await new Promise((resolve) => setTimeout(() => resolve(value), ms));

let monitor: Monitor | undefined;
let connects: () => Promise<void>;
let connectedAtMs: number[];

beforeEach(() => {
  vi.useFakeTimers();
  connects = () => Promise.resolve();
  connectedAtMs = [];
});

afterEach(() => {
  void monitor?.stop();
  vi.useRealTimers();
});

function start(options: Partial<MonitorOptions> = {}): Monitor {
  monitor = createMonitor({
    read: () => Promise.resolve(accountsRead),
    connect: () => connects(),
    onConnected: () => void connectedAtMs.push(Date.now()),
    clock,
    everyMs: 10_000,
    log: createLogger({ level: 'silent', format: 'json', colorize: false, secrets: [] }),
    ...options,
  });
  void monitor.refresh();
  return monitor;
}

async function pass(ms: number): Promise<void> {
  await vi.advanceTimersByTimeAsync(ms);
}

it('a check that runs request repeatedly starts within a second', async () => {
  const readAtMs: number[] = [];
  const made = start({
    read: () => {
      readAtMs.push(Date.now());
      return Promise.resolve(accountsRead);
    },
  });
  for (let at = 0; at < 100; at += 1) {
    made.refreshSoon();
    await pass(100);
  }
  expect(readAtMs.length).toBeGreaterThanOrEqual(10);
});

it('a check without a response for ten seconds is an outage, and its late result is used', async () => {
  const made = start({ read: () => after(12_000, accountsRead) });
  await pass(9_900);
  expect(made.latest.problem).toBeNull();
  await pass(100);
  expect(made.latest.problem?.message).toBe('PostgreSQL has not responded for 10 s');
  expect(made.latest.problem?.code).toBe('database_unreachable');
  await pass(15_000);
  expect(made.latest).toMatchObject({ accountsRead, problem: null });
});

it('a check ends the outage of runs when a new connection opens, not when the open one reads', async () => {
  const made = start();
  await pass(0);
  const full = Object.assign(new Error('sorry, too many clients already'), {
    code: '53300',
    severity: 'FATAL',
  });
  connects = () => Promise.reject(full);
  made.recordFailure(new SafetySyncError('database_unreachable', 'too many clients'));
  await pass(60_000);
  expect(made.latest).toMatchObject({
    accountsRead,
    problem: { message: 'too many clients' },
  });
  connects = () => Promise.resolve();
  await pass(10_000);
  expect(made.latest.problem).toBeNull();
});

it('a check that connects during an outage lets runs try again, at most every ten seconds', async () => {
  const startedMs = Date.now();
  const made = start();
  for (let at = 0; at < 50; at += 1) {
    made.recordFailure(new SafetySyncError('database_unreachable', 'too many clients'));
    made.refreshSoon();
    await pass(500);
  }
  expect(connectedAtMs.map((ms) => Math.floor((ms - startedMs) / 1000))).toEqual([0, 10, 20]);
});
