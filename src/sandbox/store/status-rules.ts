import { toDateNumber } from '../date-number.ts';
import type { Employee, Equipment, Schedule } from '../records.ts';

/*
 * The conditions of `expiring` and `unassigned` are "not shown"; these are the sandbox's own rules. The one rule that the
 * specification states is kept by them: any expired schedule makes the equipment expired.
 */

function scheduleStatusAt(
  schedule: Pick<Schedule, 'expiresOn' | 'expiringOn'>,
  now: number,
): 'uptodate' | 'expiring' | 'expired' {
  if (schedule.expiresOn !== null && schedule.expiresOn <= now) return 'expired';
  if (schedule.expiringOn !== null && schedule.expiringOn <= now) return 'expiring';
  return 'uptodate';
}

export function equipmentAt(equipment: Equipment, now: number): Equipment {
  const { schedules: inspected } = equipment;
  if (!isListOfObjects(inspected)) return equipment;
  const schedules = inspected.map((schedule) => ({
    ...schedule,
    status: scheduleStatusAt(schedule, now),
  }));
  const hasAny = (wanted: string): boolean => schedules.some(({ status }) => status === wanted);
  const status = ['expired', 'expiring'].find(hasAny) ?? 'uptodate';
  return { ...equipment, status, schedules };
}

/** A training counts as complete until the end of its expiry day. */
export function employeeAt(employee: Employee, now: number): Employee {
  const { complete_training_ids, incomplete_training_ids, last_completed } = employee;
  if (!hasTrainings(employee)) return employee;
  const today = toDateNumber(now);
  const required = [...complete_training_ids, ...incomplete_training_ids].sort((a, b) => a - b);
  const completions = new Map(last_completed.map((entry) => [entry.id, entry]));
  const complete: number[] = [];
  const incomplete: number[] = [];
  let expiring = false;
  for (const id of required) {
    const entry = completions.get(id);
    if (entry === undefined || (entry.expiresOn !== null && entry.expiresOn < today)) {
      incomplete.push(id);
      continue;
    }
    complete.push(id);
    if (entry.startsExpiringOn !== null && entry.startsExpiringOn <= today) expiring = true;
  }
  const status =
    required.length === 0
      ? 'unassigned'
      : incomplete.length > 0
        ? 'incomplete'
        : expiring
          ? 'expiring'
          : 'active';
  return {
    ...employee,
    status,
    percent_complete: required.length === 0 ? 0 : (complete.length / required.length) * 100,
    incomplete_training_ids: incomplete,
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
