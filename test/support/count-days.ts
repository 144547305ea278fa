/** Counts the days of rows that a test inserts by SQL, as the end of a first run does. */
import type { Connection } from '../../src/engine/database/connection.ts';
import { countDays } from '../../src/engine/history/days.ts';

const COUNTED = ['followups', 'training-employee-status', 'equipments'] as const;

/** All accounts with rows, or the given ones. */
export async function countStored(
  { db, query }: Pick<Connection, 'db' | 'query'>,
  accounts?: readonly string[],
  nowMs = Date.now(),
): Promise<void> {
  const found = await query<{ account_id: string }>(`select account_id from safety.followups
    union select account_id from safety.training_employee_status union select account_id from safety.equipment`);
  await db.transaction(async (tx) => {
    for (const accountId of accounts ?? found.map((row) => row.account_id)) {
      for (const stream of COUNTED) {
        await tx.execute(
          `delete from safety.counted_days where account_id = '${accountId}' and stream = '${stream}'`,
        );
        await countDays(tx, { accountId, stream, now: new Date(nowMs).toISOString() }, true);
      }
    }
  });
}
