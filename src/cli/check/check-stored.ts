import type { App } from '../../app.ts';
import { readMigrationStatus } from '../../engine/database/migration-status.ts';
import { describeUnread, UNREAD_ADVICE } from '../../engine/streams/unread-parts.ts';
import { checkAccounts } from '../verbs/accounts.ts';
import type { Check } from './check-database.ts';
import { readUnread } from '../verbs/status.ts';

/**
 * Finds stored rows that no configured run reads: equipment of other types, and other accounts. `hasAll`: `app` has every
 * configured account, so the others can be found.
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
