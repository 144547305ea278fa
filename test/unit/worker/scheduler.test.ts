import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { NextSync } from '../../../src/operate/health/account-health.ts';
import { createRunQueue } from '../../../src/operate/worker/run-queue.ts';
import { createScheduler, type Job, type Scheduler } from '../../../src/operate/worker/scheduler.ts';
import { HOUR_MS, MINUTE_MS, SECOND_MS } from '../../../src/shared/time.ts';
import { createGate } from '../../support/gate.ts';

const START = Date.UTC(2026, 2, 2, 12, 0, 1);
const OFF = {
  resources: null,
  followups: null,
  'training-employee-status': null,
  equipments: null,
  users: null,
};

let scheduler: Scheduler;
let begun: string[];
let overruns: number;
let work: (job: Job) => Promise<readonly NextSync[]>;

beforeEach(() => {
  vi.useFakeTimers({ now: START });
  begun = [];
  overruns = 0;
  work = () => Promise.resolve([]);
  const clock = { now: () => Date.now(), monotonicMs: () => performance.now() };
  scheduler = createScheduler({
    accounts: [
      {
        id: 'one',
        offReasons: {},
        config: {
          schedule: {
            timezone: 'UTC',
            streams: { ...OFF, resources: '*/15 * * * *', followups: '*/15 * * * *' },
            reconcile: null,
          },
        },
      },
    ],
    spreadMs: 0,
    queue: createRunQueue({ slots: 4, clock }),
    clock,
    run: async (job) => {
      begun.push(job.stream);
      return await work(job);
    },
    onSkippedTick: (_, why) => {
      if (why !== 'missed') overruns += 1;
    },
  });
  scheduler.start();
});
afterEach(async () => {
  await scheduler.stop();
  vi.useRealTimers();
});

describe('a scheduler', () => {
  it('a sync that a run requests for a time starts when the run then under way has ended', async () => {
    const gate = createGate();
    work = async ({ stream }) => {
      if (stream === 'followups') return [{ stream: 'resources', inMs: MINUTE_MS }];
      await gate.opened;
      return [];
    };
    scheduler.trigger('one', 'resources');
    scheduler.trigger('one', 'followups');
    await vi.advanceTimersByTimeAsync(2 * MINUTE_MS);
    expect(begun).toEqual(['resources', 'followups']);
    gate.open();
    await vi.advanceTimersByTimeAsync(SECOND_MS);
    expect(begun).toEqual(['resources', 'followups', 'resources']);
    expect(overruns).toBe(0);
  });

  it('the stream that runs last starts when the other streams of its account have ended, in any order of triggers', async () => {
    const gate = createGate();
    work = async ({ stream }) => {
      if (stream === 'resources') await gate.opened;
      return [];
    };
    scheduler.trigger('one', 'users');
    scheduler.trigger('one', 'resources');
    await vi.advanceTimersByTimeAsync(SECOND_MS);
    expect(begun).toEqual(['resources']);
    gate.open();
    await vi.advanceTimersByTimeAsync(SECOND_MS);
    expect(begun).toEqual(['resources', 'users']);
  });

  it('a scheduler is alive after any jump of its clock, and continues', async () => {
    for (const byMs of [30 * 24 * HOUR_MS, -60 * 24 * HOUR_MS]) {
      vi.setSystemTime(Date.now() + byMs);
      await vi.advanceTimersByTimeAsync(16 * MINUTE_MS);
      expect(scheduler.isAlive()).toBe(true);
    }
    // Forward: the missed one and the next one; back: the next one, of each stream.
    expect(begun.filter((stream) => stream === 'resources').length).toBe(3);
    expect(begun.filter((stream) => stream === 'followups').length).toBe(3);
  });
});
