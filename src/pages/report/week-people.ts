/** Selects and sorts the people to list with their tasks of the next seven days. Pure. */
import { personOf } from '../words.ts';

/** Numbers of tasks. */
export interface PersonLoad {
  /** Empty: no assignee. */
  readonly user_id: string;
  readonly user_name: string | null;
  readonly followups: number;
  readonly trainings: number;
  /** Each of one type and schedule. */
  readonly inspection_tasks: number;
  readonly inspections: number;
}

const SHOWN_PEOPLE = 12;
/** People with other tasks than inspections are shown beyond this limit. */
const MOST_PEOPLE = 20;

/** Inspections come last, because there can be many. */
const urgencyOf = ({ followups, trainings }: PersonLoad): number => followups + trainings;

export const tasksOf = (load: PersonLoad): number => urgencyOf(load) + load.inspection_tasks;

/** Tasks without an assignee are always shown. */
export function choosePeople(loads: readonly PersonLoad[]): {
  shown: readonly PersonLoad[];
  others: readonly PersonLoad[];
} {
  const people = loads
    .filter(({ user_id: id }) => id !== '')
    .toSorted(
      (one, other) =>
        urgencyOf(other) - urgencyOf(one) ||
        tasksOf(other) - tasksOf(one) ||
        personOf(one.user_name, one.user_id).localeCompare(personOf(other.user_name, other.user_id)) ||
        one.user_id.localeCompare(other.user_id),
    );
  const urgent = people.filter((one) => urgencyOf(one) > 0).length;
  const most = Math.min(MOST_PEOPLE, Math.max(SHOWN_PEOPLE, urgent));
  const unassigned = loads.filter(({ user_id: id }) => id === '');
  return { shown: [...people.slice(0, most), ...unassigned], others: people.slice(most) };
}
