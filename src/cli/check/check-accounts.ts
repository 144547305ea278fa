/** Checks what is stored of the accounts. All of it needs a migrated warehouse. */
import type { App } from '../../app.ts';
import { readReportingTimezones } from '../../engine/history/reporting.ts';
import { describeUnread, UNREAD_ADVICE } from '../../engine/streams/unread-parts.ts';
import { readAccountFindings } from '../verbs/accounts.ts';
import { readUnread } from '../verbs/status.ts';
import { type Check, skipped } from './finding.ts';

/** No check where the warehouse has the configured zone, or where no zone is configured. */
export async function checkTimezones({ accounts, accountIds, db }: App): Promise<Check[]> {
  const stored = await readReportingTimezones(db, accountIds);
  return accounts.flatMap(({ id, config: { reportingTimezone: own } }): Check[] => {
    const zone = stored.get(id);
    if (own === null || zone === undefined || zone === own) return [];
    return [
      skipped(
        'reporting time zone',
        `days of ${id} begin in ${zone} in the warehouse, and REPORTING_TIMEZONE is ${own} here`,
        'The next sync or start from here moves them; set the same zone wherever safety-sync is run.',
      ),
    ];
  });
}

/**
 * Finds stored rows that no configured run reads: equipment of other types, and other accounts. `hasAll`: `app` has every
 * configured account, so the others can be found.
 */
export async function checkStored(app: App, hasAll: boolean): Promise<Check[]> {
  const isMany = app.accounts.length > 1;
  const unread = [...(await readUnread(app))].map(([account, parts]) =>
    skipped(isMany ? `equipments of ${account}` : 'equipments', describeUnread(parts) ?? '', UNREAD_ADVICE),
  );
  const others = hasAll ? await readAccountFindings(app) : [];
  return [...unread, ...others.map(({ finding, advice }) => skipped('accounts', finding, advice))];
}
