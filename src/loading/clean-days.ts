/** Kept days of follow-ups name assignees. Those that can be counted again are; of the others the names are put through. */
import { sql } from 'drizzle-orm';
import type { Queryable } from '../database/connection.ts';
import { toArrayLiteral } from '../database/copy-text.ts';
import { followupDays } from '../database/followup-days.ts';
import type { CleaningScope, CleaningStep } from './cleaning-step.ts';

const STEP_DAYS = 200;

interface Day extends Record<string, unknown> {
  readonly date: string;
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
  const from = after === null ? sql`` : sql`and date > ${after[0] ?? ''}::date`;
  const days = await db.execute<Day>(sql`
    select date::text as date, (select jsonb_agg(jsonb_build_array(u.id, u.status, u.followups))
        from unnest(ids, statuses, followups) as u (id, status, followups))::text as counts
    from ${followupDays} where ${ofAccount} and counted_by = 'assignee' ${from} order by date limit ${STEP_DAYS}`);
  let changed = 0;
  for (const { date, counts } of days) {
    const before = JSON.parse(counts) as readonly Count[];
    const sums = new Map<string, number>();
    for (const [id, status, followups] of before) {
      const kept = protection.ofRow(shape.parent.table, { assignee_id: id })['assignee_id'] as string | null;
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
      where ${ofAccount} and counted_by = 'assignee' and date = ${date}::date`);
  }
  return { last: days.length < STEP_DAYS ? null : [days.at(-1)?.date ?? ''], seen: days.length, changed };
}
