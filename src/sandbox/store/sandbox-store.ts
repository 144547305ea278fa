import { buildEmployee } from '../generate/employees.ts';
import { buildEquipment } from '../generate/equipment.ts';
import { equipmentTypes } from '../generate/equipment-types.ts';
import { createFollowupBuilder } from '../generate/followups.ts';
import { buildResource } from '../generate/resources.ts';
import { personName } from '../generate/vocabulary.ts';
import { STREAM, type World } from '../generate/world.ts';
import { Random } from '../random.ts';
import type { Employee, Equipment, Resource, User } from '../records.ts';
import { FollowupTable } from './followup-table.ts';
import { MemoryTable } from './record-table.ts';
import { employeeAt, equipmentAt } from './status-rules.ts';
import { createTrainingCache } from './training-calculation.ts';

/** The data of the service: the current state, regardless of its caches. */
export type SandboxStore = ReturnType<typeof createStore>;

export function createStore(world: World, clock: () => number, cacheMs: number) {
  const { seed, size, peopleIds, now } = world;
  const followups = new FollowupTable({ count: size.followups, build: createFollowupBuilder(world), clock });
  const resources = new MemoryTable<Resource>({ keyField: 'id' });
  for (let index = 0; index < size.resources; index += 1) resources.putLiving(buildResource(index, world));
  const employees = new MemoryTable<Employee>({
    keyField: 'm_user_id',
    current: (employee) => employeeAt(employee, clock()),
  });
  const users = new MemoryTable<User>({ keyField: 'id' });
  for (const [index, id] of peopleIds.entries()) {
    users.putLiving({ id, name: personName(Random.of(seed, STREAM.users, index, 2)) });
    if (index < size.employees)
      employees.putLiving(buildEmployee(id, Random.of(seed, STREAM.employees, index), now));
  }
  const equipment = new MemoryTable<Equipment>({
    keyField: 'id',
    current: (record) => equipmentAt(record, clock()),
  });
  for (const record of buildEquipment(world)) equipment.putLiving(record);
  return {
    followups,
    resources,
    /** With all completions, as for `include_all_completions`, and the current status. */
    employees,
    equipment,
    users,
    /** Known equipment types with their metafields, including types without equipment. */
    metafields: new Map<string, readonly string[]>(
      equipmentTypes.map((type) => [type.id, type.metafields.map((field) => field.id)]),
    ),
    ...createTrainingCache({ calculate: () => [...employees.values()], clock, cacheMs }),
  };
}
