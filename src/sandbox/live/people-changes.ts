import { dateNumberAfter } from '../date-number.ts';
import { buildEmployee, completionOf, trainings } from '../generate/employees.ts';
import { buildUser } from '../generate/users.ts';
import type { Employee } from '../records.ts';
import { hasTrainings } from '../store/status-rules.ts';
import { freshId, type LiveContext } from './live-context.ts';

export function changeEmployee(context: LiveContext): void {
  const { store, random } = context;
  const roll = random.next();
  if (roll < 0.05) {
    hire(context);
    return;
  }
  const [key, employee] = store.employees.any(random) ?? [];
  // Planted records may lack their lists or have another key; they are skipped.
  if (employee === undefined || employee.m_user_id !== key || !hasTrainings(employee)) return;
  if (roll < 0.5) completeTraining(employee, context);
  else if (roll < 0.75) assignTraining(employee, context);
  else expireTraining(employee, context);
}

function completeTraining(employee: Employee, { store, random, now }: LiveContext): void {
  const training = random.pick(trainings);
  const required = [...employee.incomplete_training_ids, ...employee.complete_training_ids];
  const others = employee.last_completed.filter((entry) => entry.id !== training.id);
  const completion = completionOf(training, now, required.includes(training.id));
  store.employees.putLiving({ ...employee, last_completed: [...others, completion] });
  store.addCompletion(employee.m_user_id, completion);
}

function assignTraining(employee: Employee, { store, random }: LiveContext): void {
  const training = random.pick(trainings);
  if ([...employee.incomplete_training_ids, ...employee.complete_training_ids].includes(training.id)) return;
  store.employees.putLiving({
    ...employee,
    incomplete_training_ids: [...employee.incomplete_training_ids, training.id],
    last_completed: employee.last_completed.map((entry) =>
      entry.id === training.id ? { ...entry, is_required: true } : entry,
    ),
  });
}

/** Moves the end of one completion near, or into the past. */
function expireTraining(employee: Employee, { store, random, now }: LiveContext): void {
  const expiring = employee.last_completed.filter((entry) => entry.expiresOn !== null);
  if (expiring.length === 0) return;
  const chosen = random.pick(expiring);
  const expiresOn = dateNumberAfter(now, random.int(-2, 14));
  const last_completed = employee.last_completed.map((entry) =>
    entry === chosen ? { ...entry, expiresOn, startsExpiringOn: dateNumberAfter(now, -16) } : entry,
  );
  store.employees.putLiving({ ...employee, last_completed });
  for (const [key, { m_user_id, training_id, date_number }] of store.completedTrainings) {
    if (m_user_id === employee.m_user_id && training_id === chosen.id && date_number === chosen.date_number)
      store.completedTrainings.update(key, { special_expiration_date_number: expiresOn });
  }
}

function hire({ world, store, random, now }: LiveContext): void {
  const id = freshId(800_000 + random.int(0, 99_999), store.users);
  store.users.putLiving(buildUser(id, store.users.size, { random, world }));
  const employee = buildEmployee(id, random, now);
  store.employees.putLiving(employee);
  for (const completion of employee.last_completed) store.addCompletion(id, completion);
}
