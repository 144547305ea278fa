import { describeUnlimited } from '../../config/account-config.ts';
import { describeUnknown } from '../../config/unknown-variables.ts';
import { configuredChannels } from '../../operate/alerts/notifier.ts';
import { parseDatabaseUrl } from '../../engine/database/database-url.ts';
import type { Config } from '../../config/load-config.ts';
import { runWorker } from '../../operate/worker/run-worker.ts';
import { VERSION } from '../../version.ts';
import { EXIT } from '../run-results.ts';
import { type CommonOptions, LIFT_PRIVACY_OPTION, type Verb, withApp } from '../verb.ts';

/** Maximum number of service addresses in the log line. */
const MOST_ADDRESSES = 20;

function describeAccounts({ accounts }: Config): Record<string, unknown> {
  const [account] = accounts;
  if (accounts.length === 1 && account !== undefined) {
    return {
      account_id: account.accountId,
      base_url: account.service?.baseUrl,
      equipment_types: account.equipmentTypes,
      schedule: account.schedule.streams,
      reconcile: account.schedule.reconcile,
      timezone: account.schedule.timezone,
    };
  }
  const addresses = new Set(accounts.flatMap(({ service }) => service?.baseUrl ?? []));
  return {
    accounts: accounts.length,
    base_urls: [...addresses].slice(0, MOST_ADDRESSES),
  };
}

/** For the log: all settings, without the secrets. */
function describeConfig(config: Config): Record<string, unknown> {
  const database = config.databaseUrl === undefined ? undefined : parseDatabaseUrl(config.databaseUrl);
  return {
    version: VERSION,
    node: process.version,
    ...describeAccounts(config),
    database:
      database === undefined ? 'embedded' : `${database.host}:${database.port}/${database.database ?? ''}`,
    api: config.api,
    followups_overlap_ms: config.followupsOverlapMs,
    max_delete_ratio: config.maxDeleteRatio,
    freshness_budget_minutes: config.freshnessBudgetMinutes,
    alerts: configuredChannels(config.notifications).map(({ name }) => name),
    report: config.notifications.report?.cron ?? 'off',
    log_level: config.log.level,
  };
}

export const start: Verb<CommonOptions> = {
  name: 'start',
  about:
    'the worker: migrate, sync and reconcile on schedule, serve health, metrics and a status page, stop on SIGTERM',
  hasAccounts: true,
  options: [LIFT_PRIVACY_OPTION],
  run: withApp<CommonOptions>(
    async ({ app }, { liftPrivacy = false }) => {
      await runWorker(app, { liftPrivacy });
      return EXIT.ok;
    },
    {
      needsService: true,
      // The worker migrates by itself, as soon as the database is there.
      migrates: 'by_itself',
      // Before the first statement and before the port is bound: if either hangs, the log shows which program it is.
      begin: (config, log) => {
        log.info(describeConfig(config), `safety-sync ${VERSION} is starting`);
        const unlimited = describeUnlimited(config.accounts, config.api.requestsPerMinute);
        const unknown = describeUnknown(config.unknownVariables);
        for (const warning of [unlimited, unknown]) if (warning !== null) log.warn(warning);
      },
    },
  ),
};
