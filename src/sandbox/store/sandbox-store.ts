import { buildEmployees } from '../generate/employees.ts';
import { buildEquipment } from '../generate/equipment.ts';
import { equipmentTypes } from '../generate/equipment-types.ts';
import { createFollowupBuilder } from '../generate/followups.ts';
import { buildResources } from '../generate/resources.ts';
import { personName } from '../generate/person-names.ts';
import { STREAM, type World } from '../generate/world.ts';
import { Random } from '../random.ts';
import type { Employee, Equipment, Resource, User } from '../records.ts';
import { FollowupTable } from './followup-table.ts';
import { MemoryTable } from './record-table.ts';
import { employeeAt, equipmentAt } from './status-rules.ts';
import { TrainingCache, type TrainingCalculation } from './training-calculation.ts';

/** The data of the service: the current state, regardless of its caches. */
export interface SandboxStore {
  readonly followups: FollowupTable;
  readonly resources: MemoryTable<Resource>;
  /** With all completions, as for `include_all_completions`, and the current status. */
  readonly employees: MemoryTable<Employee>;
  readonly equipment: MemoryTable<Equipment>;
  readonly users: MemoryTable<User>;
  /** Known equipment types with their metafields, including types without equipment. */
  readonly metafields: Map<string, readonly string[]>;
  /**
   * The training list that is served now; a new one is calculated if it is missing or too old. `request` is the cache key
   * if each request is cached separately.
   */
  trainingCalculation(request?: string): TrainingCalculation;
  /** Makes the service calculate the training list again. */
  recalculateTraining(lastUpdated?: number): TrainingCalculation;
}

export function createStore(world: World, clock: () => number, cacheMs: number): SandboxStore {
  const followups = new FollowupTable({
    count: world.size.followups,
    build: createFollowupBuilder(world),
    clock,
  });
  const resources = new MemoryTable<Resource>({ keyField: 'id' });
  for (const resource of buildResources(world)) resources.putLiving(resource);
  const employees = new MemoryTable<Employee>({
    keyField: 'm_user_id',
    current: (employee) => employeeAt(employee, clock()),
  });
  for (const employee of buildEmployees(world)) employees.putLiving(employee);
  const equipment = new MemoryTable<Equipment>({
    keyField: 'id',
    current: (record) => equipmentAt(record, clock()),
  });
  for (const record of buildEquipment(world)) equipment.putLiving(record);
  const users = new MemoryTable<User>({ keyField: 'id' });
  for (const [index, id] of world.peopleIds.entries()) {
    users.putLiving({ id, name: personName(Random.of(world.seed, STREAM.users, index, 2)) });
  }

  const training = new TrainingCache({ calculate: () => [...employees.values()], clock, cacheMs });
  return {
    followups,
    resources,
    employees,
    equipment,
    users,
    metafields: new Map(equipmentTypes.map((type) => [type.id, type.metafields.map((field) => field.id)])),
    trainingCalculation: (request) => training.current(request),
    recalculateTraining: (lastUpdated) => training.recalculate(lastUpdated),
  };
}
