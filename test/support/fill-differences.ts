/** What an upgrade works out of states and messages that were stored before, for those that a test stores by SQL. */
import { readFile } from 'node:fs/promises';

const MIGRATION = new URL('../../migrations/0017_followup_changes.sql', import.meta.url);

export async function fillDifferences(connection: { query(text: string): Promise<unknown> }): Promise<void> {
  const text = await readFile(MIGRATION, 'utf8');
  const updates = text.split('--> statement-breakpoint').filter((one) => /^update /im.test(one));
  if (updates.length !== 3)
    throw new RangeError(`three statements fill what was stored before, not ${updates.length}`);
  for (const update of updates) await connection.query(update);
}
