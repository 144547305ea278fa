import type { RunResult } from '../../src/sync/run.ts';
import { clockOf, NOON, type TestTime } from './test-clock.ts';
import { createTestWorker, type TestWorker, type TestWorkerOptions } from './worker.ts';

export interface TimedWorkerOptions extends TestWorkerOptions {
  /** How far this machine's clock is off. */
  readonly ourClockOffMs?: number;
  /** How far the service's clock is off. */
  readonly serviceClockOffMs?: number;
}

/** A worker and a service whose time the test moves. */
export interface TimedWorker extends TestWorker {
  readonly time: TestTime;
  /** By the service's clock. */
  serviceNow(): number;
}

export async function createTimedWorker(options: TimedWorkerOptions = {}): Promise<TimedWorker> {
  const time: TestTime = { now: NOON };
  const serviceNow = () => time.now + (options.serviceClockOffMs ?? 0);
  const worker = await createTestWorker({
    clock: clockOf(time, options.ourClockOffMs ?? 0),
    ...options,
    sandbox: { seed: 7, clock: serviceNow, ...options.sandbox },
  });
  return { ...worker, time, serviceNow };
}

/** Throws what the run failed with. */
export function expectSucceeded(result: RunResult): void {
  if (result.outcome === 'failed') throw result.error;
  if (result.outcome === 'skipped') throw new Error(`skipped: ${result.reason}`);
}
