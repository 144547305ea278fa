/** Ends what is running, so that a stop takes seconds and leaves no run open. */
import type { Scheduler } from './scheduler.ts';
import type { Logger } from '../shared/logger.ts';
import { SECOND_MS, withTimeout } from '../shared/time.ts';
import type { Connection } from '../database/connection.ts';

export interface StopRunsOptions {
  readonly scheduler: Scheduler;
  /** Database sessions of the runs under way. */
  readonly sessions: ReadonlySet<number>;
  readonly connection: Connection;
  readonly log: Logger;
}

/** Requests end at once and most statements take milliseconds: what lasts longer than this is a statement that hangs. */
const PATIENCE_MS = 4 * SECOND_MS;
const CANCEL_EVERY_MS = 500;
/** Together with closing the pool this stays below the ten seconds after which service managers kill. */
const GIVE_UP_MS = 8 * SECOND_MS;

/** Only what has been running for a while: the statement that closes the run must not be hit. */
const CANCEL = `select pg_cancel_backend(pid) from pg_stat_activity
  where pid = any ($1::int[]) and state = 'active' and query_start < clock_timestamp() - interval '1 second'`;

export async function stopRuns({ scheduler, sessions, connection, log }: StopRunsOptions): Promise<void> {
  await scheduler.stop();
  const settled = scheduler.settled();
  let hasEnded = (await withTimeout(settled, PATIENCE_MS)).inTime;
  for (let ms = PATIENCE_MS; !hasEnded && ms < GIVE_UP_MS; ms += CANCEL_EVERY_MS) {
    log.debug({ sessions: [...sessions] }, 'cancelling the statements of runs that do not end');
    // Over the pool, and without waiting: where the database is away there is nothing to cancel.
    connection.query(CANCEL, [`{${[...sessions].join(',')}}`]).catch(() => undefined);
    hasEnded = (await withTimeout(settled, CANCEL_EVERY_MS)).inTime;
  }
  if (!hasEnded) {
    const streams = scheduler.open.map(({ stream }) => stream);
    log.error(
      { streams },
      `${streams.join(', ')}: not ended in time; the next run closes the record, nothing is half stored`,
    );
  }
}
