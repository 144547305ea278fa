import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createOutageLog, type OutageLog } from '../../../src/operate/health/outage-log.ts';
import { SafetySyncError } from '../../../src/shared/errors.ts';
import { createLogger, type Logger } from '../../../src/shared/logger.ts';
import type { AccountsRead } from '../../../src/operate/status/read-accounts.ts';
import type { Volumes } from '../../../src/operate/status/read-volumes.ts';
import type { Clock } from '../../../src/shared/time.ts';
import { createMonitor, type Monitor, type MonitorOptions } from '../../../src/operate/worker/monitor.ts';

const clock: Clock = { now: () => Date.now(), monotonicMs: () => Date.now() };

const READ: AccountsRead = {
  databaseNowMs: 0,
  readAtMs: 0,
  readMonotonicMs: 0,
  pendingMigrations: 0,
  accounts: new Map(),
  blocked: new Map(),
};
const COUNTED: Volumes = { rows: [], days: [] };
const never = <T>() => new Promise<T>(() => undefined);
const after = async <T>(ms: number, value: T): Promise<T> =>
  await new Promise((resolve) => setTimeout(() => resolve(value), ms));

let monitor: Monitor | undefined;
let outage: OutageLog;
let slow: string[];
let defects: string[];
let connects: () => Promise<void>;
let connectedAtMs: number[];

beforeEach(() => {
  vi.useFakeTimers();
  const log = createLogger({ level: 'silent', format: 'json', colorize: false, secrets: [] });
  outage = createOutageLog({ dependency: 'database', log, clock });
  slow = [];
  defects = [];
  connects = () => Promise.resolve();
  connectedAtMs = [];
});

afterEach(() => {
  monitor?.stop();
  vi.useRealTimers();
});

function start(options: Partial<MonitorOptions> = {}): Monitor {
  monitor = createMonitor({
    read: () => Promise.resolve(READ),
    count: () => Promise.resolve(COUNTED),
    ping: () => Promise.resolve(),
    connect: () => connects(),
    onConnected: () => connectedAtMs.push(Date.now()),
    clock,
    everyMs: 10_000,
    outage,
    log: {
      error: (_: unknown, text: string) => defects.push(text),
      warn: (text: string) => slow.push(text),
    } as unknown as Logger,
    ...options,
  });
  void monitor.refresh();
  return monitor;
}

async function pass(ms: number): Promise<void> {
  await vi.advanceTimersByTimeAsync(ms);
}

describe('a check of the database', () => {
  it('a check that takes long while the database responds is slow, not an outage, and its result is used', async () => {
    const made = start({ read: () => after(8_000, READ) });
    await pass(7_000);
    expect(made.latest).toMatchObject({ accountsRead: null, problem: null, isSlow: true });
    expect(outage.current).toBeUndefined();
    await pass(1_000);
    expect(made.latest).toMatchObject({ accountsRead: READ, problem: null, isSlow: true });
    await pass(60_000);
    expect(slow).toEqual([expect.stringContaining('has not been read within 5.0 s')]);
  });

  it('a check that runs request repeatedly starts within a second', async () => {
    const readAtMs: number[] = [];
    const made = start({
      read: () => {
        readAtMs.push(Date.now());
        return Promise.resolve(READ);
      },
    });
    for (let at = 0; at < 100; at += 1) {
      made.refreshSoon();
      await pass(100);
    }
    expect(readAtMs.length).toBeGreaterThanOrEqual(10);
  });

  it('a check without any response for ten seconds is an outage', async () => {
    const made = start({ read: never, ping: never });
    await pass(9_900);
    expect(made.latest.problem).toBeNull();
    await pass(100);
    expect(made.latest.problem).toBe('PostgreSQL does not respond');
    expect(outage.current?.code).toBe('database_unreachable');
  });

  it('a check without a response is no outage while runs of this worker are stored', async () => {
    const made = start({ read: never, ping: never });
    await pass(7_000);
    made.recordResponse();
    await pass(3_000);
    expect(made.latest).toMatchObject({ problem: null, isSlow: true });
    expect(outage.current).toBeUndefined();
  });

  it('a check that is refused is an outage at once', async () => {
    const refused = Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' });
    const made = start({ read: () => Promise.reject(refused) });
    await pass(0);
    expect(made.latest.problem).toMatch(/ECONNREFUSED/);
    expect(outage.current?.code).toBe('database_unreachable');
  });

  it('a check starts at most half a minute after a slow one', async () => {
    const begun: number[] = [];
    const startedMs = Date.now();
    start({
      read: () => {
        begun.push(Date.now() - startedMs);
        return after(4_000, READ);
      },
    });
    await pass(70_000);
    expect(begun).toEqual([0, 34_000, 68_000]);
  });

  it('a check does not wait for a count of rows, and a failed count does not fail it', async () => {
    let looks = 0;
    const read = () => Promise.resolve({ ...READ, look: (looks += 1) });
    const made = start({ read, count: never });
    await pass(25_000);
    expect(looks).toBe(3);
    made.stop();
    const refused = Object.assign(new Error('canceling statement due to statement timeout'), {
      code: '57014',
    });
    const other = start({ count: () => Promise.reject(refused) });
    await pass(0);
    expect(other.latest).toMatchObject({ accountsRead: READ, problem: null });
    expect(defects).toEqual([expect.stringContaining('statement timeout')]);
  });

  it('the result of a check has the time of the last count, which is repeated every two minutes', async () => {
    const begun: number[] = [];
    const startedMs = Date.now();
    const made = start({
      count: () => {
        begun.push(Date.now() - startedMs);
        return after(5_000, {
          ...COUNTED,
          rows: [{ stream: 'users', rows: begun.length, isEstimate: false }],
        });
      },
    });
    await pass(140_000);
    expect(begun).toEqual([0, 130_000]);
    expect(made.latest).toMatchObject({
      counted: { rows: [{ rows: 2 }] },
      countedAtMs: startedMs + 130_000,
    });
  });

  it('a check ends the outage of runs when a new connection opens, not when the open one reads', async () => {
    const made = start();
    await pass(0);
    const full = Object.assign(new Error('sorry, too many clients already'), {
      code: '53300',
      severity: 'FATAL',
    });
    connects = () => Promise.reject(full);
    outage.recordFailure(new SafetySyncError('database_unreachable', 'too many clients'), true);
    const { sinceMs } = outage.current ?? {};
    await pass(60_000);
    expect(made.latest).toMatchObject({
      accountsRead: READ,
      problem: 'PostgreSQL: sorry, too many clients already (53300)',
    });
    expect(outage.current).toMatchObject({ sinceMs, failedRuns: 1 });
    connects = () => Promise.resolve();
    await pass(10_000);
    expect(made.latest.problem).toBeNull();
  });

  it('a check that connects during an outage lets runs try again, at most every ten seconds', async () => {
    const startedMs = Date.now();
    const made = start();
    for (let at = 0; at < 50; at += 1) {
      outage.recordFailure(new SafetySyncError('database_unreachable', 'too many clients'), true);
      made.refreshSoon();
      await pass(500);
    }
    expect(connectedAtMs.map((ms) => Math.floor((ms - startedMs) / 1000))).toEqual([0, 10, 20]);
  });
});
