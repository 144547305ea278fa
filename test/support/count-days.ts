/** Counts the days of rows that a test inserts by SQL, as the end of a run does. */
import type { Connection } from '../../src/engine/database/connection.ts';
import { countDays, createDayStage, voidDays } from '../../src/engine/history/followup-days.ts';

const COUNTED = ['followups', 'training-employee-status', 'equipments'] as const;

/** All accounts with rows, or the given ones. */
export async function countStored(
  { db, query }: Pick<Connection, 'db' | 'query'>,
  accounts?: readonly string[],
): Promise<void> {
  const found = await query<{ account_id: string }>(`select account_id from safety.followups
    union select account_id from safety.training_employee_status union select account_id from safety.equipment`);
  await db.transaction(async (tx) => {
    await createDayStage(tx);
    for (const accountId of accounts ?? found.map((row) => row.account_id)) {
      await voidDays(tx, accountId);
      for (const stream of COUNTED) {
        const now = new Date().toISOString();
        await countDays(tx, { accountId, stream, now, keepsPeriods: stream === 'followups' });
      }
    }
  });
}
