/** Changes of people, trainings, equipment and documents. */
import { DAY_MS } from '../../shared/time.ts';
import { dateNumberAfter } from '../date-number.ts';
import { buildEmployee, completionOf, trainings } from '../generate/employees.ts';
import { buildOneEquipment, inspectedAt } from '../generate/equipment.ts';
import { equipmentTypes } from '../generate/equipment-types.ts';
import { buildResource, buildVersion } from '../generate/resources.ts';
import { buildUser } from '../generate/users.ts';
import type { Completion, Employee, Schedule } from '../records.ts';
import { hasTrainings, isListOfObjects } from '../store/status-rules.ts';
import { freshId, type LiveContext } from './live-context.ts';

export function changeEmployee(context: LiveContext): void {
  const { store, random, now } = context;
  const roll = random.next();
  const found = store.employees.any(random);
  if (found === undefined || roll < 0.05) {
    hire(context);
    return;
  }
  const [key, employee] = found;
  // Planted records may lack their lists or have another key; they are skipped.
  if (employee.m_user_id !== key || !hasTrainings(employee)) return;
  const training = random.pick(trainings);
  const required = [...employee.incomplete_training_ids, ...employee.complete_training_ids];
  if (roll < 0.6) {
    const others = employee.last_completed.filter((entry) => entry.id !== training.id);
    const completion = completionOf(training, now, required.includes(training.id));
    complete(context, employee, [...others, completion], completion);
  } else if (!required.includes(training.id)) {
    store.employees.putLiving({
      ...employee,
      incomplete_training_ids: [...employee.incomplete_training_ids, training.id],
      last_completed: employee.last_completed.map((entry) =>
        entry.id === training.id ? { ...entry, is_required: true } : entry,
      ),
    });
  }
}

function complete(
  { store }: LiveContext,
  employee: Employee,
  last_completed: Completion[],
  ...completions: readonly Completion[]
): void {
  store.employees.putLiving({ ...employee, last_completed });
  for (const completion of completions) store.addCompletion(employee.m_user_id, completion);
}

function hire(context: LiveContext): void {
  const { world, store, random, now } = context;
  const id = freshId(800_000 + random.int(0, 99_999), store.users);
  store.users.put(buildUser(id, store.users.size, { random, world }));
  const employee = buildEmployee(id, random, now);
  complete(context, employee, employee.last_completed, ...employee.last_completed);
}

const knownSchedules = new Map(
  equipmentTypes.flatMap(({ schedules }) => schedules).map((one) => [one.id, one]),
);

export function changeEquipment(context: LiveContext): void {
  const { world, store, random, now } = context;
  const roll = random.next();
  const found = store.equipment.any(random);
  if (found === undefined || roll < 0.06) {
    const id = freshId(700_000 + random.int(0, 99_999), store.equipment);
    const type = random.pick(equipmentTypes);
    store.equipment.putLiving({
      ...buildOneEquipment({ id, type, random, world, parent: undefined }),
      created: now,
      schedules: type.schedules.map((schedule) => inspectedAt(schedule, now)),
    });
    return;
  }
  const [key, equipment] = found;
  // Planted records may lack their lists; they are skipped.
  if (!isListOfObjects(equipment.schedules) || equipment.schedules.length === 0) return;
  if (roll < 0.2) {
    store.equipment.update(key, { isInService: !equipment.isInService });
    return;
  }
  const chosen = random.pick(equipment.schedules);
  const known = knownSchedules.get(chosen.schedule_id);
  const expiresOn = random.chance(0.5) ? now : now + 1_000 * random.int(1, 3600);
  const changed =
    roll < 0.7 && known !== undefined
      ? inspectedAt(known, now)
      : { ...chosen, expiringOn: now - 1, expiresOn };
  const schedules = equipment.schedules.map((schedule) => (schedule === chosen ? changed : schedule));
  store.equipment.update(key, { schedules });
}

export function changeResource({ world, store, random, now }: LiveContext): void {
  const found = store.resources.any(random);
  if (found === undefined || random.chance(0.15)) {
    const index = Number(freshId(2_000 + store.resources.size, store.resources)) - 2_000;
    const added = buildResource(index, world);
    const version = buildVersion({ resourceId: added.id, number: 1, isLink: false, at: now, random, world });
    store.resources.put({ ...added, created: now, versions: [version] });
    return;
  }
  const [key, resource] = found;
  // Planted records may have no list of versions.
  const versions = Array.isArray(resource.versions) ? resource.versions : [];
  const isLink = random.chance(0.2);
  const number = versions.length + 1;
  const version = buildVersion({ resourceId: key, number, isLink, at: now, random, world });
  store.resources.update(key, { versions: [version, ...versions] });
}

/** Daily probability that a due or late task is done: frequent tasks are seldom forgotten, the others wait longer. */
const inspectedOf = (everyDays: number): number => (everyDays <= 1 ? 0.93 : everyDays <= 7 ? 0.5 : 0.2);
/** Daily probability for a training that lapses within the month, or has lapsed. */
const RENEWED = 0.04;

/** A working day: some of what is due is inspected or renewed. */
export function inspectAndRenew(context: LiveContext): void {
  const { store, random, now } = context;
  const inspect = (one: Schedule): Schedule => {
    const known = knownSchedules.get(one.schedule_id);
    if (known === undefined || one.expiresOn === null || one.expiresOn >= now + DAY_MS) return one;
    return random.chance(inspectedOf(known.everyDays)) ? inspectedAt(known, now) : one;
  };
  for (const [key, { isInService, schedules = [] }] of [...store.equipment]) {
    if (isInService) store.equipment.update(key, { schedules: schedules.map(inspect) });
  }
  const month = dateNumberAfter(now, 30);
  for (const employee of [...store.employees.values()]) {
    const renewed: Completion[] = [];
    const last_completed = employee.last_completed.map((entry) => {
      const training = trainings.find(({ id }) => id === entry.id);
      const isLapsing = entry.expiresOn !== null && entry.expiresOn < month;
      if (!isLapsing || training === undefined || !random.chance(RENEWED)) return entry;
      renewed.push(completionOf(training, now, entry.is_required === true));
      return renewed.at(-1) ?? entry;
    });
    complete(context, employee, last_completed, ...renewed);
  }
}
