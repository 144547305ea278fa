import type { Config } from '../config/load-config.ts';

/** Of thousands of accounts that use a dozen services. */
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

/** For the log: everything that is set, without what is secret. */
export function describeConfig(config: Config, version: string): Record<string, unknown> {
  const database = config.databaseUrl === undefined ? undefined : new URL(config.databaseUrl);
  return {
    version,
    node: process.version,
    ...describeAccounts(config),
    database: database === undefined ? 'embedded' : `${database.host}${database.pathname}`,
    sync_concurrency: config.syncConcurrency,
    sync_spread_seconds: config.syncSpreadSeconds,
    api: config.api,
    followups_overlap_ms: config.followupsOverlapMs,
    max_delete_ratio: config.maxDeleteRatio,
    freshness_budget_minutes: config.freshnessBudgetMinutes,
    log_level: config.log.level,
  };
}
