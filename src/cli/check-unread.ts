import type { App } from '../app.ts';
import { readMigrationStatus } from '../database/migrate.ts';
import { describeUnread, UNREAD_ADVICE } from '../streams/unread-parts.ts';
import { readUnread } from './status.ts';
import type { Check } from './check-database.ts';

/** Rows that stay although nothing is configured any more that would read them. Nothing to say where there are none. */
export async function checkUnread(app: App): Promise<Check[]> {
  if ((await readMigrationStatus(app.warehouse.connection)).pending > 0) return [];
  const isMany = app.accounts.length > 1;
  return [...(await readUnread(app))].map(([account, parts]) => ({
    what: isMany ? `equipments of ${account}` : 'equipments',
    result: 'skipped',
    finding: describeUnread(parts) ?? '',
    advice: UNREAD_ADVICE,
  }));
}
