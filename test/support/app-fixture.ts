import { onTestFinished } from 'vitest';
import { createApp } from '../../src/app.ts';
import { loadConfig } from '../../src/config/load-config.ts';
import type { Clock } from '../../src/shared/time.ts';
import { runWorker, type WorkerOptions } from '../../src/operate/worker/run-worker.ts';
import { serviceEnv, type TestWorker } from './world.ts';

/**
 * The long-lived worker inside the test process, against the sandbox and database of a test worker. It is stopped as by a
 * SIGTERM at the end of the present test.
 */
export interface AppFixture {
  readonly url: string;
}

interface AppFixtureOptions extends WorkerOptions {
  readonly env?: Readonly<Record<string, string>>;
  readonly clock?: Clock;
}

export async function startAppFixture(
  worker: TestWorker,
  options: AppFixtureOptions = {},
): Promise<AppFixture> {
  const stopping = new AbortController();
  const config = loadConfig(
    {
      ...serviceEnv(worker),
      HTTP_PORT: '0',
      RETRY_MIN_DELAY_MS: '1',
      RETRY_MAX_DELAY_MS: '20',
      LOG_LEVEL: 'silent',
      ...options.env,
    },
    { needsService: true, isTerminal: false },
  );
  const app = await createApp({
    config,
    signal: stopping.signal,
    say: () => undefined,
    ...(options.clock === undefined ? {} : { clock: options.clock }),
  });
  let ended: Promise<void> = Promise.resolve();
  onTestFinished(async () => {
    stopping.abort(new Error('SIGTERM'));
    await ended;
    await app.close();
  });
  const url = await new Promise<string>((resolve, reject) => {
    ended = runWorker(app, { ...options, onListening: resolve });
    ended.catch(reject);
  });
  return { url };
}
