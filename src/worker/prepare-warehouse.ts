/** Migrates as soon as the database is there, however long that takes, and closes what dead workers left open. */
import type { App } from '../app.ts';
import { dependencyOf, WATCH } from '../health/outage-log.ts';
import { buildRunEvents } from './run-report.ts';
import { SafetySyncError } from '../shared/errors.ts';
import { SECOND_MS, sleep, untilAborted } from '../shared/time.ts';
import { toDatabaseError } from '../database/database-error.ts';
import { closeAllDeadRuns } from '../database/dead-runs.ts';

const FIRST_DELAY_MS = SECOND_MS;
const MOST_DELAY_MS = 30 * SECOND_MS;

/** False when a stop was asked for before. Throws what waiting does not cure: rights, an old server. */
export async function prepareWarehouse(app: App): Promise<boolean> {
  const { signal, outages, log } = app;
  const stopped = untilAborted(signal).then(() => 'stopped' as const);
  for (let delayMs = FIRST_DELAY_MS; !signal.aborted; delayMs = Math.min(delayMs * 2, MOST_DELAY_MS)) {
    try {
      const migrated = await Promise.race([app.migrate(), stopped]);
      if (migrated === 'stopped') return false;
      outages.noteAnswer('database', WATCH);
      await closeDeadRuns(app);
      if (migrated.applied > 0) log.info({ applied: migrated.applied }, 'the warehouse was migrated');
      return true;
    } catch (error) {
      if (!(error instanceof SafetySyncError) || dependencyOf(error) !== 'database') throw error;
      outages.noteFailure(WATCH, error);
      log.debug({ error_code: error.code, delay_ms: delayMs }, `${error.message}; trying again`);
      await sleep(delayMs, signal);
    }
  }
  return false;
}

/** Else they would look as if they were running until their streams are run again. */
async function closeDeadRuns({ accounts, warehouse }: App): Promise<void> {
  const byId = new Map(accounts.map((account) => [account.id, account]));
  try {
    for (const one of await closeAllDeadRuns(warehouse.connection.db, [...byId.keys()])) {
      const account = byId.get(one.accountId);
      if (account !== undefined) buildRunEvents(account).onDeadRuns?.(one.stream, one.closed);
    }
  } catch (error) {
    throw toDatabaseError(error);
  }
}
