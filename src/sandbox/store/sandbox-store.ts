import { buildEmployee, completedTraining, pastCompletions } from '../generate/employees.ts';
import { buildEquipment } from '../generate/equipment.ts';
import { createFollowupBuilder } from '../generate/followups.ts';
import { buildResource } from '../generate/resources.ts';
import { buildLists, type ListName } from '../generate/lists.ts';
import { buildUser } from '../generate/users.ts';
import { STREAM, type World } from '../generate/world.ts';
import { Random } from '../random.ts';
import { DAY_MS, MINUTE_MS } from '../../shared/time.ts';
import type { CompletedTraining, Completion, Employee, Equipment, Resource, User } from '../records.ts';
import { FollowupTable } from './followup-table.ts';
import { RecordTable } from './record-table.ts';
import { employeeAt, equipmentAt } from './status-rules.ts';

interface TrainingCalculation {
  /** Time of the calculation, ms; kept while it is served. */
  readonly lastUpdated: number;
  readonly employees: readonly Employee[];
}

const CACHE_MS = 15 * MINUTE_MS;

/** The data of the service: the current state, regardless of its caches. */
export type SandboxStore = ReturnType<typeof createStore>;

export function createStore(world: World, clock: () => number) {
  const { seed, size, peopleIds, now } = world;
  const followups = new FollowupTable(clock);
  const buildFollowup = createFollowupBuilder(world);
  for (let ordinal = 0; ordinal < size.followups; ordinal += 1) followups.put(buildFollowup(ordinal));
  const resources = new RecordTable<Resource>('id');
  for (let index = 0; index < size.resources; index += 1) resources.put(buildResource(index, world));
  const employees = new RecordTable<Employee>('m_user_id', {
    current: (employee) => employeeAt(employee, clock()),
  });
  const users = new RecordTable<User>('id');
  for (const [index, id] of peopleIds.entries()) {
    users.put(buildUser(id, index, { random: Random.of(seed, STREAM.users, index, 2), world }));
    if (index < size.employees)
      employees.putLiving(buildEmployee(id, Random.of(seed, STREAM.employees, index), now));
  }
  const equipment = new RecordTable<Equipment>('id', { current: (record) => equipmentAt(record, clock()) });
  for (const record of buildEquipment(world)) equipment.putLiving(record);
  const lists = Object.fromEntries(
    Object.entries(buildLists(world)).map(([name, records]) => {
      const table = new RecordTable<{ id: string | number }>('id');
      for (const record of records) table.put(record);
      return [name, table];
    }),
  ) as Record<ListName, RecordTable<{ id: string | number }>>;
  const completedTrainings = new RecordTable<CompletedTraining>('id');
  let completions = 5_000_000;
  const addCompletion = (userId: string, completion: Pick<Completion, 'id' | 'date_number'>): void =>
    void completedTrainings.put(completedTraining(completion, userId, ++completions, world.accountIds));
  for (const [userId, employee] of employees) {
    for (const completion of pastCompletions(employee)) addCompletion(userId, completion);
  }
  let calculation: TrainingCalculation | undefined;
  /** Makes the service calculate the training list again. `lastUpdated` can simulate a clock that went back. */
  const recalculateTraining = (lastUpdated = clock()): TrainingCalculation =>
    (calculation = { lastUpdated, employees: [...employees.values()] });
  return {
    account: {
      id: Random.of(seed, STREAM.account).hexadecimal24(),
      name: 'Northline Yards',
      subdomain: 'northline',
      created: world.beginning,
      expiresOn: now + 1000 * DAY_MS,
    },
    followups,
    resources,
    /** With all completions, as for `include_all_completions`, and the current status. */
    employees,
    equipment,
    users,
    completedTrainings,
    addCompletion,
    /** By the key of the list in its response. */
    lists,
    metafieldIds(equipmentType: string): string[] {
      const { metafields = [] } = (lists.equipmenttypes.get(equipmentType) ?? {}) as {
        metafields?: { id: string }[];
      };
      return metafields.map(({ id }) => id);
    },
    recalculateTraining,
    /** "Results are cached for 15 minutes": the training list that is served now, in pages. */
    trainingCalculation: (): TrainingCalculation =>
      calculation === undefined || clock() - calculation.lastUpdated >= CACHE_MS
        ? recalculateTraining()
        : calculation,
  };
}
