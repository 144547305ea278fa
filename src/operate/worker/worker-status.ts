/** The status of a worker: the last read of the warehouse, and the state that only the process has. */
import type { App } from '../../app.ts';
import type { Notifier } from './notifier.ts';
import type { WorkerState } from '../status/facts.ts';
import { type AccountDetail, readDetail } from '../status/read-detail.ts';
import { buildStatus, type Status } from '../status/status.ts';
import { SECOND_MS, withTimeout } from '../../shared/time.ts';
import type { AccountRunner } from './account-runner.ts';
import type { Monitor } from './monitor.ts';
import type { Scheduler } from './scheduler.ts';

interface WorkerStatusSources {
  readonly app: App;
  readonly state: () => WorkerState;
  readonly monitor: Monitor;
  readonly scheduler: Scheduler;
  readonly runners: readonly AccountRunner[];
  readonly notifier: Pick<Notifier, 'status'>;
}

/** Afterwards a page is shown without its details. */
const DETAIL_TIMEOUT_MS = 3 * SECOND_MS;

export type WorkerStatus = ReturnType<typeof createWorkerStatus>;

export function createWorkerStatus({ app, monitor, runners, ...sources }: WorkerStatusSources) {
  const { clock, config, db, owner } = app;
  const startedMs = clock.monotonicMs();

  return {
    /** The status of all accounts, or of one with its details. */
    status: (accountId: string | null = null, detail: AccountDetail | null = null): Status =>
      buildStatus({
        freshnessBudgetMinutes: config.freshnessBudgetMinutes,
        owner,
        nowMs: clock.now(),
        uptimeMs: Math.round(clock.monotonicMs() - startedMs),
        worker: sources.state(),
        migrationWaits: app.migrationWaits,
        ...sources.notifier.status,
        warehouse: monitor.latest,
        accounts: runners
          .filter(({ account: { id } }) => accountId === null || id === accountId)
          .map(({ account: { id, config: own, api }, health }) => ({
            ...{ id, config: own, refusals: health.refusals, waits: api.waits },
            differences: detail?.differences ?? [],
          })),
      }),
    /** null: the database does not respond, or is not migrated. */
    readDetail: async (accountId: string): Promise<AccountDetail | null> => {
      const { accountsRead, problem } = monitor.latest;
      const runner = runners.find(({ account: { id } }) => id === accountId);
      if (runner === undefined || problem !== null || accountsRead?.pendingMigrations !== 0) return null;
      const { account, health } = runner;
      const nowMs = clock.now();
      const nextRuns = sources.scheduler.nextRuns(accountId).map(({ inMs, ...next }) => ({
        ...next,
        atMs: Math.max(nowMs + inMs, health.nextTryMs(next.stream)),
      }));
      const { privacy } = config;
      const read = readDetail(db, account, { privacy, nextRuns }).catch(() => null);
      const result = await withTimeout(read, DETAIL_TIMEOUT_MS);
      return result.inTime ? result.value : null;
    },
  };
}
