/** Kept days of follow-ups name assignees and forms. Those that can be counted again are; of the others the ids are put through. */
import { sql } from 'drizzle-orm';
import type { Queryable } from '../database/connection.ts';
import { toArrayLiteral } from '../database/array-literal.ts';
import { followupDays } from '../database/followup-days.ts';
import type { CleaningScope, CleaningStep } from './cleaning-step.ts';

const STEP_DAYS = 200;

/** The column of a follow-up whose values are the ids of such days. */
const COUNTED = { assignee: 'assignee_id', form: 'form_id' } as const;

interface Day extends Record<string, unknown> {
  readonly date: string;
  readonly counted_by: keyof typeof COUNTED;
  readonly counts: string;
}

type Count = readonly [id: string | null, status: string | null, followups: number];

export async function cleanDays(
  db: Queryable,
  { accountId, shape, protection }: CleaningScope,
  after: readonly string[] | null,
): Promise<CleaningStep> {
  const ofAccount = sql`account_id = ${accountId}`;
  if (after === null) await db.execute(sql`delete from ${followupDays} where ${ofAccount} and not is_final`);
  const [date, countedBy] = after ?? [];
  const from = date === undefined ? sql`` : sql`and (date, counted_by) > (${date}::date, ${countedBy})`;
  const days = await db.execute<Day>(sql`
    select date::text as date, counted_by, (select coalesce(jsonb_agg(jsonb_build_array(u.id, u.status, u.followups)), '[]')
        from unnest(ids, statuses, followups) as u (id, status, followups))::text as counts
    from ${followupDays} where ${ofAccount} and counted_by <> 'all' ${from}
    order by date, counted_by limit ${STEP_DAYS}`);
  let changed = 0;
  for (const { date: day, counted_by: by, counts } of days) {
    const column = COUNTED[by];
    const before = JSON.parse(counts) as readonly Count[];
    const sums = new Map<string, number>();
    for (const [id, status, followups] of before) {
      const kept = protection.ofRow(shape.parent.table, { [column]: id })[column] as string | null;
      const key = JSON.stringify([kept, status]);
      sums.set(key, (sums.get(key) ?? 0) + followups);
    }
    const now = [...sums].map(([key, sum]): Count => {
      const [id, status] = JSON.parse(key) as [string | null, string | null];
      return [id, status, sum];
    });
    if (JSON.stringify(now) === JSON.stringify(before)) continue;
    changed += 1;
    await db.execute(sql`update ${followupDays} set ids = ${toArrayLiteral(now.map(([id]) => id))}::text[],
        statuses = ${toArrayLiteral(now.map(([, status]) => status))}::text[],
        followups = ${toArrayLiteral(now.map(([, , followups]) => String(followups)))}::int[]
      where ${ofAccount} and counted_by = ${by} and date = ${day}::date`);
  }
  const end = days.length < STEP_DAYS ? undefined : days.at(-1);
  return { last: end === undefined ? null : [end.date, end.counted_by], seen: days.length, changed };
}
