import { expect, test } from 'vitest';
import { forAllTests } from '../support/lifetime.ts';
import { expectWarehouseEqualsSource, TABLES_OF } from '../support/source-oracle.ts';
import { createSyncedWorker } from '../support/world.ts';

/** One warehouse for all, because each test repairs its damage. */
const worker = forAllTests(() => createSyncedWorker());

const DAMAGE = [
  [
    'a changed column',
    'followups',
    `update safety.followups set is_open = not is_open where id = (select min(id) from safety.followups)`,
  ],
  [
    'a changed child row',
    'followups',
    `update safety.followup_messages set note = 'forged' 
      where (followup_id, id) = (select followup_id, id from safety.followup_messages order by followup_id, id limit 1)`,
  ],
  [
    'a missing child row',
    'equipments',
    `delete from safety.equipment_schedules where (equipment_id, schedule_id) =
      (select equipment_id, schedule_id from safety.equipment_schedules order by equipment_id, schedule_id limit 1)`,
  ],
  [
    'a surplus child row',
    'resources',
    `insert into safety.resource_versions (account_id, resource_id, ordinal, is_current)
      select account_id, id, 99, false from safety.resources order by id limit 1`,
  ],
  [
    'a missing row',
    'training-employee-status',
    `delete from safety.training_employee_status where user_id = (select min(user_id) from safety.training_employee_status)`,
  ],
] as const;

test.each(DAMAGE)(
  'reconcile repairs %s in the warehouse, and writes no other record',
  async (_what, stream, damage) => {
    await worker.query(damage);
    const { outcome, counts } = await worker.run(stream, { kind: 'reconcile', force: true });
    expect(outcome).toBe('succeeded');
    await expectWarehouseEqualsSource(worker, { tables: TABLES_OF[stream] ?? [] });
    expect(counts.inserted + counts.updated).toBe(1);
    expect(counts.inserted + counts.updated + counts.unchanged + counts.rejected).toBe(counts.read);
  },
);
