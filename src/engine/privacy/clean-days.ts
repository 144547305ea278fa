/**
 * Counted days of follow-ups contain ids of assignees and forms; cleaning replaces protected ids. If a column that
 * determines the counts is protected, the counted days become invalid.
 */
import type { Queryable } from '../database/connection.ts';
import { createDayStage, renameDays, voidDays } from '../history/followup-days.ts';
import type { CleaningScope, CleaningStep } from './cleaning-step.ts';

/** The column of a follow-up that contains the ids of such days. */
const COUNTED = { assignee: 'assignee_id', form: 'form_id' } as const;
/** The columns that determine how a follow-up counts on each day. */
const COUNTED_FROM = {
  is_open: true,
  due_on: '2026-01-01',
  created_at: '2026-01-01T00:00:00Z',
  updated_at: '2026-01-01T00:00:00Z',
  resolved_at: '2026-01-01T00:00:00Z',
};

export async function cleanDays(
  db: Queryable,
  { accountId, shape, protection }: CleaningScope,
): Promise<CleaningStep> {
  await createDayStage(db);
  let changed = 0;
  for (const countedBy of ['assignee', 'form'] as const) {
    const column = COUNTED[countedBy];
    const toId = (id: string | null): string | null =>
      protection.ofRow(shape.parent.table, { [column]: id })[column] as string | null;
    changed += await renameDays(db, accountId, { countedBy, toId });
  }
  if (protection.ofRow(shape.parent.table, COUNTED_FROM) !== COUNTED_FROM) await voidDays(db, accountId);
  return { last: null, seen: changed, changed };
}
