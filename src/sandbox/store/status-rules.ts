import { toDateNumber } from '../date-number.ts';
import type { Employee, Equipment, Schedule } from '../records.ts';

/*
 * The conditions of `expiring` and `unassigned` are "not shown"; these are the sandbox's own rules. The one rule that the
 * specification states is kept by them: any expired schedule makes the equipment expired.
 */

const hasCome = (at: number | null, now: number): boolean => at !== null && at <= now;

function scheduleStatusAt({ expiresOn, expiringOn }: Schedule, now: number): string {
  if (hasCome(expiresOn, now)) return 'expired';
  return hasCome(expiringOn, now) ? 'expiring' : 'uptodate';
}

export function equipmentAt(equipment: Equipment, now: number): Equipment {
  const { schedules: inspected } = equipment;
  if (!isListOfObjects(inspected)) return equipment;
  const schedules = inspected.map((schedule) => ({ ...schedule, status: scheduleStatusAt(schedule, now) }));
  const hasAny = (wanted: string): boolean => schedules.some(({ status }) => status === wanted);
  const status = ['expired', 'expiring'].find(hasAny) ?? 'uptodate';
  return { ...equipment, status, schedules };
}

/** A training counts as complete until the end of its expiry day. */
export function employeeAt(employee: Employee, now: number): Employee {
  if (!hasTrainings(employee)) return employee;
  const today = toDateNumber(now);
  const { complete_training_ids, incomplete_training_ids, last_completed } = employee;
  const required = [...complete_training_ids, ...incomplete_training_ids].sort((a, b) => a - b);
  const valid = last_completed.filter(({ expiresOn }) => expiresOn === null || expiresOn >= today);
  const complete = required.filter((id) => valid.some((entry) => entry.id === id));
  const isExpiring = valid.some(
    ({ id, startsExpiringOn }) => complete.includes(id) && hasCome(startsExpiringOn, today),
  );
  const current = isExpiring ? 'expiring' : 'active';
  const needed = complete.length < required.length ? 'incomplete' : current;
  return {
    ...employee,
    status: required.length === 0 ? 'unassigned' : needed,
    percent_complete: required.length === 0 ? 0 : (complete.length / required.length) * 100,
    incomplete_training_ids: required.filter((id) => !complete.includes(id)),
    complete_training_ids: complete,
  };
}

/** A planted record may lack its lists. */
export function hasTrainings(employee: Employee): boolean {
  const { complete_training_ids, incomplete_training_ids, last_completed } = employee;
  return (
    Array.isArray(complete_training_ids) &&
    Array.isArray(incomplete_training_ids) &&
    isListOfObjects(last_completed)
  );
}

/** Planted records without a status by these rules keep their own. */
export function isListOfObjects<T>(value: T): value is T & readonly object[] {
  return Array.isArray(value) && value.every((item) => typeof item === 'object' && item !== null);
}
