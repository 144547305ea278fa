/** Closes the record of a run that failed. */
import pRetry from 'p-retry';
import type { RequestMeter } from '../api/requests.ts';
import type { SafetySyncError } from '../shared/errors.ts';
import { SECOND_MS } from '../shared/time.ts';
import type { Queryable } from '../database/connection.ts';
import { failRun, type RunKey, type RunRequests } from '../database/runs.ts';

/** A database that restarts is back within a second or so; one that stays away must not hold up the worker. */
const PATIENCE = { retries: 4, minTimeout: 100, factor: 2, maxRetryTime: 2 * SECOND_MS };

export function requestsOf(meter: RequestMeter): RunRequests {
  return { requests: meter.requests, retries: meter.retries, lastRequestId: meter.lastRequestId };
}

export interface FailedRun {
  readonly run: RunKey;
  readonly error: SafetySyncError;
  readonly meter: RequestMeter;
}

/** Over the session if it lives, else over the pool. What cannot be closed now is closed by the stream's next run. */
export async function closeFailedRun(
  { session, pool }: { readonly session: Queryable; readonly pool: Queryable },
  { run, error, meter }: FailedRun,
): Promise<void> {
  const close = (db: Queryable) => failRun(db, run, error, requestsOf(meter));
  await close(session)
    .catch(() => pRetry(() => close(pool), PATIENCE))
    .catch(() => undefined);
}
