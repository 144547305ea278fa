import type { App } from '../../app.ts';
import { readMigrationStatus } from '../../engine/database/migration-status.ts';
import { readReportingTimezones } from '../../engine/history/reporting.ts';
import type { Check } from './check-database.ts';

/** Returns no check if the warehouse has the configured zone, or if no zone is configured. */
export async function checkTimezones({ accounts, warehouse }: App): Promise<Check[]> {
  const { connection } = warehouse;
  if ((await readMigrationStatus(connection)).pending > 0) return [];
  const stored = await readReportingTimezones(
    connection.db,
    accounts.map(({ id }) => id),
  );
  return accounts.flatMap(({ id, config: { reportingTimezone: own } }): Check[] => {
    const zone = stored.get(id);
    if (own === null || zone === undefined || zone === own) return [];
    return [
      {
        what: 'reporting time zone',
        result: 'skipped',
        finding: `days of ${id} begin in ${zone} in the warehouse, and REPORTING_TIMEZONE is ${own} here`,
        advice: 'The next sync or start from here moves them; set the same zone wherever safety-sync is run.',
      },
    ];
  });
}
