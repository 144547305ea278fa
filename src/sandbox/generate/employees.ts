import { DAY_MS } from '../../shared/time.ts';
import { dateNumberAfter, toDateNumber } from '../date-number.ts';
import { Random } from '../random.ts';
import type { CompletedTraining, Completion, Employee } from '../records.ts';

interface Training {
  id: number;
  name: string;
  /** null: completions never expire. */
  validDays: number | null;
  /** Length of the `expiring` phase at the end of a completion. */
  noticeDays: number;
}

export const trainings: readonly Training[] = [
  { id: 301, name: 'Site induction', validDays: null, noticeDays: 0 },
  { id: 302, name: 'Work at height', validDays: 730, noticeDays: 60 },
  { id: 303, name: 'Confined space entry', validDays: 365, noticeDays: 30 },
  { id: 304, name: 'Forklift operator', validDays: 1095, noticeDays: 90 },
  { id: 305, name: 'First aid', validDays: 730, noticeDays: 60 },
  { id: 306, name: 'Slinger and banksman', validDays: 730, noticeDays: 45 },
  { id: 307, name: 'Hot work and fire watch', validDays: 365, noticeDays: 30 },
  { id: 308, name: 'H2S awareness', validDays: 730, noticeDays: 30 },
  { id: 309, name: 'Manual handling', validDays: 1095, noticeDays: 30 },
  { id: 310, name: 'Asbestos awareness', validDays: 365, noticeDays: 30 },
  { id: 311, name: 'Lock-out tag-out', validDays: 365, noticeDays: 30 },
  { id: 312, name: 'Code of conduct', validDays: null, noticeDays: 0 },
];

export function buildEmployee(id: string, random: Random, now: number): Employee {
  const requiredCount = random.chance(0.07) ? 0 : random.int(1, 8);
  const required = random.sample(trainings, requiredCount);
  const diligence = random.pick([0, 0.5, 0.9, 1, 1, 1]);
  const completions: Completion[] = [];
  for (const training of trainings) {
    const isRequired = required.includes(training);
    if (random.chance(isRequired ? diligence : 0.15)) {
      const sinceDays = random.int(1, Math.round((training.validDays ?? 900) * 1.02));
      completions.push(completionOf(training, now - sinceDays * DAY_MS, isRequired));
    }
  }
  // The table keeps the status and both lists of ids current.
  return {
    status: 'unassigned',
    m_user_id: id,
    percent_complete: 0,
    incomplete_training_ids: required.map((training) => training.id),
    complete_training_ids: [],
    last_completed: completions,
  };
}

export function completionOf(training: Training, at: number, isRequired: boolean): Completion {
  const { validDays, noticeDays } = training;
  return {
    id: training.id,
    date_number: toDateNumber(at),
    expiresOn: validDays === null ? null : dateNumberAfter(at, validDays),
    startsExpiringOn: validDays === null ? null : dateNumberAfter(at, validDays - noticeDays),
    is_required: isRequired,
  };
}

/** A completion as it is listed by itself; `special` is an end by hand. */
type ListedCompletion = Pick<Completion, 'id' | 'date_number'> & { special?: number };

const noonOf = (day: number): number =>
  Date.UTC(Math.floor(day / 10_000), (Math.floor(day / 100) % 100) - 1, day % 100, 12);

/** The record of a completion: `number` is its id, and higher for a later one. */
export function completedTraining(
  { id, date_number, special }: ListedCompletion,
  userId: string,
  number: number,
  instructorIds: readonly string[],
): CompletedTraining {
  const random = Random.of(number);
  return {
    ...{ id: number, training_id: id, m_user_id: userId, date_number },
    created: noonOf(date_number) + random.int(0, DAY_MS / 4),
    ...(special !== undefined && { special_expiration_date_number: special }),
    ...(random.chance(0.2) && {
      group_training_id: 4_000 + random.int(1, 99),
      m_instructor_id: random.pick(instructorIds),
    }),
    ...(random.chance(0.1) && { notes: 'Practical part repeated.' }),
    signature: random.chance(0.3) ? { key: `signatures/${number}.png`, date: noonOf(date_number) } : null,
    files: random.chance(0.1) ? [{ key: `trainings/${number}.pdf`, caption: 'Certificate' }] : [],
  };
}

/** The completions of `employee`, and for some of them the one before, which the training report does not show. */
export function* pastCompletions(employee: Employee): Generator<ListedCompletion> {
  for (const { id, date_number } of employee.last_completed) {
    yield { id, date_number };
    // One year before, on a day that every year has.
    if ((id + date_number) % 3 !== 0 || date_number % 100 > 28) continue;
    const before = date_number - 10_000;
    const isSpecial = date_number % 10 === 0;
    yield { id, date_number: before, ...(isSpecial && { special: dateNumberAfter(noonOf(before), 200) }) };
  }
}
