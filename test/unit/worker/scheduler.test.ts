import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { NextSync } from '../../../src/operate/worker/account-health.ts';
import { createScheduler, type Job, type Scheduler } from '../../../src/operate/worker/scheduler.ts';
import { DAY_MS, MINUTE_MS, SECOND_MS } from '../../../src/shared/time.ts';
import { createGate } from '../../support/gate.ts';

const START = Date.UTC(2026, 2, 2, 12, 0, 1);
const QUARTERLY = '*/15 * * * *';

let scheduler: Scheduler;
let begun: string[];
let skipped: string[];
let work: (job: Job) => Promise<readonly NextSync[]>;

beforeEach(() => {
  vi.useFakeTimers({ now: START });
  begun = [];
  skipped = [];
  work = () => Promise.resolve([]);
});
afterEach(async () => {
  await scheduler.stop();
  vi.useRealTimers();
});

function start(
  ids: readonly string[],
  streams: Readonly<Record<string, string>> = { resources: QUARTERLY, followups: QUARTERLY },
  { slots = 4, timezone = 'UTC' } = {},
): void {
  scheduler = createScheduler({
    accounts: ids.map((id) => ({
      id,
      config: { schedule: { timezone, streams, reconcile: null } },
    })),
    slots,
    run: async (job) => {
      begun.push(ids.length === 1 ? job.stream : job.accountId);
      return await work(job);
    },
    onSkippedTick: ({ stream }) => void skipped.push(stream),
  });
  scheduler.start();
}

const trigger = (stream: string) => scheduler.trigger({ accountId: 'one', stream, kind: 'sync' });

describe('ticks', () => {
  it('start every stream at once where there is one account', async () => {
    start(['one']);
    expect(scheduler.nextRuns('one')[0]?.inMs).toBe(15 * MINUTE_MS - SECOND_MS);
    await vi.advanceTimersByTimeAsync(15 * MINUTE_MS - SECOND_MS);
    expect(begun).toEqual(['resources', 'followups']);
  });

  it('are skipped while their job is running or waits for a slot', async () => {
    const gate = createGate();
    work = async () => {
      await gate.opened;
      return [];
    };
    start(['one'], { resources: QUARTERLY, followups: QUARTERLY }, { slots: 1 });
    await vi.advanceTimersByTimeAsync(30 * MINUTE_MS);
    expect(begun).toEqual(['resources']);
    expect(skipped).toEqual(['resources', 'followups']);
    gate.open();
    await vi.advanceTimersByTimeAsync(SECOND_MS);
    expect(begun).toEqual(['resources', 'followups']);
    expect(scheduler.open).toEqual([]);
  });

  it('that a sleeping machine missed are made up for once', async () => {
    start(['one'], { resources: QUARTERLY });
    vi.setSystemTime(Date.now() + DAY_MS);
    await vi.advanceTimersByTimeAsync(15 * MINUTE_MS);
    expect(begun).toEqual(['resources']);
    await vi.advanceTimersByTimeAsync(15 * MINUTE_MS);
    expect(begun).toEqual(['resources', 'resources']);
  });

  it('start nothing after a stop, neither a schedule nor a sync that was to follow', async () => {
    work = () => Promise.resolve([{ stream: 'followups', inMs: MINUTE_MS }]);
    start(['one']);
    trigger('resources');
    await vi.advanceTimersByTimeAsync(SECOND_MS);
    await scheduler.stop();
    trigger('resources');
    await vi.advanceTimersByTimeAsync(DAY_MS);
    expect(begun).toEqual(['resources']);
  });
});

describe('jobs', () => {
  it('a sync that a run asks for begins at its time', async () => {
    work = ({ stream }) =>
      Promise.resolve(stream === 'followups' ? [] : [{ stream: 'followups', inMs: MINUTE_MS }]);
    start(['one']);
    trigger('resources');
    await vi.advanceTimersByTimeAsync(MINUTE_MS - 1);
    expect(begun).toEqual(['resources']);
    await vi.advanceTimersByTimeAsync(1);
    expect(begun).toEqual(['resources', 'followups']);
  });

  it('a reconcile starts when the sync of its stream has ended', async () => {
    const gate = createGate();
    work = async ({ kind }) => {
      begun.push(kind);
      if (kind === 'sync') await gate.opened;
      return [];
    };
    start(['one'], { resources: QUARTERLY });
    trigger('resources');
    scheduler.trigger({ accountId: 'one', stream: 'resources', kind: 'reconcile' });
    await vi.advanceTimersByTimeAsync(SECOND_MS);
    expect(begun).toEqual(['resources', 'sync']);
    gate.open();
    await vi.advanceTimersByTimeAsync(SECOND_MS);
    expect(begun).toEqual(['resources', 'sync', 'resources', 'reconcile']);
  });

  it('the stream that runs last starts when the other streams of its account have ended, in any order of triggers', async () => {
    const gate = createGate();
    work = async ({ stream }) => {
      if (stream === 'resources') await gate.opened;
      return [];
    };
    start(['one']);
    trigger('users');
    trigger('resources');
    await vi.advanceTimersByTimeAsync(SECOND_MS);
    expect(begun).toEqual(['resources']);
    gate.open();
    await vi.advanceTimersByTimeAsync(SECOND_MS);
    expect(begun).toEqual(['resources', 'users']);
  });
});
