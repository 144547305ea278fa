/** What a reader may ask of the warehouse, and what it wants to be written there beside its records. */
import { readLedger, writeLedger } from '../backfill/ledger.ts';
import type { Queryable } from '../database/connection.ts';
import type { TransactionTime } from '../database/sql-names.ts';
import type { StreamSession } from '../database/stream-session.ts';
import {
  readSucceededLookups,
  readDatabaseTime,
  readDueLookups,
  readFailingLookups,
  writeLookupResults,
} from '../database/user-lookups.ts';
import { resolveLookups } from '../loading/issue-sql.ts';
import type { Load } from '../loading/load.ts';
import type { Warehouse } from '../reading/read-request.ts';
import type { Note } from '../reading/step.ts';
import type { StreamKey } from '../database/control-tables.ts';

export function createWarehouse(
  { connection: { db } }: StreamSession,
  load: Load,
  scope: StreamKey,
): Warehouse {
  const { accountId } = scope;
  return {
    findVanished: (covered) => load.findVanished(covered),
    readLedger: () => readLedger(db, scope),
    readTime: () => readDatabaseTime(db),
    readDueLookups: (due) => readDueLookups(db, { accountId, ...due }),
    readSucceededLookups: (limit) => readSucceededLookups(db, accountId, limit),
    readFailingLookups: (limit) => readFailingLookups(db, accountId, limit),
  };
}

/** Part of the transaction that stores the records that the notes came with. */
export async function writeNotes(
  db: Queryable,
  scope: StreamKey & TransactionTime,
  notes: readonly Note[],
): Promise<void> {
  for (const note of notes) {
    if (note.kind !== 'lookups') {
      await writeLedger(db, scope, note);
      continue;
    }
    const { begunAt, results, usable } = note;
    await writeLookupResults(db, { accountId: scope.accountId, now: scope.now, begunAt }, results);
    if (usable.length > 0) await db.execute(resolveLookups(usable, scope));
  }
}
