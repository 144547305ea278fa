/**
 * Completions of inspections that syncs have observed, noted where a schedule gets another state, because a view would have to
 * compare all states. A schedule without an earlier state has none here: the view takes its present completion.
 */
import { sql } from 'drizzle-orm';
import { primaryKey } from 'drizzle-orm/pg-core';
import type { Queryable } from '../database/connection.ts';
import { toArrayLiteral } from '../database/array-literal.ts';
import type { StreamShape } from '../database/table-shape.ts';
import { accountId, instant, safetySchema, idText } from '../streams/columns.ts';
import { equipment, equipmentSchedules, equipmentScheduleStates } from '../streams/equipments.ts';
import { childOf } from '../streams/fields.ts';

/** Made without `safetyTable`, because its key has the name that drizzle-kit gives, although PostgreSQL cuts it. */
export const equipmentCompletions = safetySchema.table(
  'equipment_completions',
  {
    account_id: accountId(),
    equipment_id: idText().notNull(),
    schedule_id: idText().notNull(),
    completed_at: instant().notNull(),
    was_due_at: instant(),
  },
  (t) => [
    primaryKey({ columns: [t.account_id, t.equipment_id, t.schedule_id, t.completed_at] }),
    childOf(equipment, [t.account_id, t.equipment_id], 'equipment_completions_equipment_fk'),
  ],
);

/** Part of the merge that wrote these pieces of equipment. */
export async function recordCompletions(
  tx: Queryable,
  { children }: StreamShape,
  { accountId: account, stagedKeys }: { readonly accountId: string; readonly stagedKeys: readonly string[] },
): Promise<void> {
  if (!children.some(({ table }) => table === equipmentSchedules)) return;
  const keys = sql`${toArrayLiteral(stagedKeys)}::text[]`;
  const noted = (alias: string) =>
    sql`${equipmentCompletions} k where k.account_id = ${account} and k.equipment_id = ${sql.raw(alias)}.equipment_id
      and k.schedule_id = ${sql.raw(alias)}.schedule_id`;
  // A completion from before the first sync: its due day is unknown.
  await tx.execute(sql`
    insert into ${equipmentCompletions} (account_id, equipment_id, schedule_id, completed_at)
    select ${account}::text, s.equipment_id, s.schedule_id, s.last_completed_at
    from (
      select distinct on (equipment_id, schedule_id) equipment_id, schedule_id, last_completed_at from ${equipmentScheduleStates}
      where account_id = ${account} and equipment_id = any (${keys}) order by equipment_id, schedule_id, valid_from desc
    ) s where s.last_completed_at is not null and not exists (select from ${noted('s')})`);
  // A later completion than the present one was withdrawn, or dated wrongly: the earliest of them becomes the present one.
  await tx.execute(sql`
    with behind as (
      select c.equipment_id, c.schedule_id, c.last_completed_at as completed_at, s.expires_at as was_due_at, n.newest
      from ${equipmentSchedules} c
      cross join lateral (
        select expires_at from ${equipmentScheduleStates} where account_id = ${account} and equipment_id = c.equipment_id
          and schedule_id = c.schedule_id order by valid_from desc limit 1
      ) s
      cross join lateral (select max(k.completed_at) as newest from ${noted('c')}) n
      where c.account_id = ${account} and c.equipment_id = any (${keys}) and c.last_completed_at is distinct from n.newest
    ),
    withdrawn as (
      delete from ${equipmentCompletions} k using behind b
      where k.account_id = ${account} and k.equipment_id = b.equipment_id and k.schedule_id = b.schedule_id
        and k.completed_at > coalesce(b.completed_at, '-infinity')
      returning k.equipment_id, k.schedule_id, k.completed_at, k.was_due_at
    )
    insert into ${equipmentCompletions} (account_id, equipment_id, schedule_id, completed_at, was_due_at)
    select ${account}::text, b.equipment_id, b.schedule_id, b.completed_at,
      case when b.completed_at < b.newest then (select w.was_due_at from withdrawn w
        where w.equipment_id = b.equipment_id and w.schedule_id = b.schedule_id order by w.completed_at limit 1) else b.was_due_at end
    from behind b where b.completed_at is not null
    on conflict do nothing`);
}
