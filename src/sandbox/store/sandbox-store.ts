import { buildEmployees } from '../generate/employees.ts';
import { buildEquipment } from '../generate/equipment.ts';
import { equipmentTypes } from '../generate/equipment-types.ts';
import { createFollowupBuilder } from '../generate/followups.ts';
import { buildResources } from '../generate/resources.ts';
import { buildUsers } from '../generate/users.ts';
import type { World } from '../generate/world.ts';
import type { Employee, Equipment, Resource, User } from '../records.ts';
import { FollowupTable } from './followup-table.ts';
import { MemoryTable } from './record-table.ts';
import { employeeAt, equipmentAt } from './status-rules.ts';
import { TrainingCache } from './training-calculation.ts';
import type { TrainingCalculation } from './training-calculation.ts';

/** The living source behind the service: what is true now, whatever the service has cached. */
export interface SandboxStore {
  readonly followups: FollowupTable;
  readonly resources: MemoryTable<Resource>;
  /** With every completion, as `include_all_completions` shows them, and the status as of now. */
  readonly employees: MemoryTable<Employee>;
  readonly equipment: MemoryTable<Equipment>;
  readonly users: MemoryTable<User>;
  /** Known equipment types and the metafields of each, also those without any equipment. */
  readonly metafields: Map<string, readonly string[]>;
  /**
   * The calculation that the service serves now; makes one when there is none or it is too old. `request` tells apart what
   * is cached apart, where each request is.
   */
  trainingCalculation(request?: string): TrainingCalculation;
  /** Makes the service calculate trainings again at once. */
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
  for (const user of buildUsers(world)) users.putLiving(user);

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
