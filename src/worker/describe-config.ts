import type { Config } from '../config/load-config.ts';

/** For the log: everything that is set, without what is secret. */
export function describeConfig(config: Config, version: string): Record<string, unknown> {
  const database = config.databaseUrl === undefined ? undefined : new URL(config.databaseUrl);
  return {
    version,
    node: process.version,
    account_id: config.accountId,
    base_url: config.service?.baseUrl,
    equipment_types: config.equipmentTypes,
    database: database === undefined ? 'embedded' : `${database.host}${database.pathname}`,
    schedule: config.schedule.streams,
    reconcile: config.schedule.reconcile,
    timezone: config.schedule.timezone,
    api: config.api,
    followups_overlap_ms: config.followupsOverlapMs,
    max_delete_ratio: config.maxDeleteRatio,
    freshness_budget_minutes: config.freshnessBudgetMinutes,
    log_level: config.log.level,
  };
}
