/** Chooses the people whose tasks of the next seven days are on the page, and their order. Pure. */
import { personOf } from '../words.ts';

/** In numbers. */
export interface Load {
  /** Empty: it has no assignee. */
  readonly user_id: string;
  readonly user_name: string | null;
  readonly followups: number;
  readonly trainings: number;
  /** Of one type and schedule each. */
  readonly inspection_tasks: number;
  readonly inspections: number;
}

const SHOWN_PEOPLE = 12;
/** Those who have more to do than inspections are shown beyond that. */
const MOST_PEOPLE = 20;

/** Inspections come last: of them there can be many. */
const urgencyOf = ({ followups, trainings }: Load): number => followups + trainings;

export const tasksOf = (load: Load): number => urgencyOf(load) + load.inspection_tasks;

/** Tasks without an assignee are always shown. */
export function choosePeople(loads: readonly Load[]): { shown: readonly Load[]; others: readonly Load[] } {
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
  const nobody = loads.filter(({ user_id: id }) => id === '');
  return { shown: [...people.slice(0, most), ...nobody], others: people.slice(most) };
}
