import type { App } from '../app.ts';
import { readMigrationStatus } from '../database/migrate.ts';
import { describeUnread, UNREAD_ADVICE } from '../streams/unread-parts.ts';
import { checkAccounts } from './accounts.ts';
import type { Check } from './check-database.ts';
import { readUnread } from './status.ts';

/**
 * What is stored although nothing is configured any more that would read it: equipment of some types, and, where `app` has
 * every account that is configured, accounts. Nothing to say where there is nothing of the kind.
 */
export async function checkStored(app: App, hasAll: boolean): Promise<Check[]> {
  if ((await readMigrationStatus(app.warehouse.connection)).pending > 0) return [];
  const isMany = app.accounts.length > 1;
  const unread = [...(await readUnread(app))].map(([account, parts]): Check => ({
    what: isMany ? `equipments of ${account}` : 'equipments',
    result: 'skipped',
    finding: describeUnread(parts) ?? '',
    advice: UNREAD_ADVICE,
  }));
  return [...unread, ...(hasAll ? await checkAccounts(app) : [])];
}
