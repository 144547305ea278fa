import type { RunEnding } from '../../src/engine/sync/run.ts';
import { clockOf, NOON, type TestTime } from './test-clock.ts';
import { createTestWorker, type TestWorker, type TestWorkerOptions } from './worker.ts';

export interface TimedWorkerOptions extends TestWorkerOptions {
  /** Offset of this machine's clock. */
  readonly ourClockOffMs?: number;
  /** Offset of the service's clock. */
  readonly serviceClockOffMs?: number;
}

/** A worker and a service with times that the test moves. */
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

/** Returns the run; throws its error. */
export function expectSucceeded<T extends RunEnding>(result: T): Extract<T, { outcome: 'succeeded' }> {
  if (result.outcome === 'failed') throw result.error;
  if (result.outcome === 'skipped') throw new Error(`skipped: ${result.reason}`);
  return result as Extract<T, { outcome: 'succeeded' }>;
}
