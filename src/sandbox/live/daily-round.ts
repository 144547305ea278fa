/** The daily routine: most tasks that are due are inspected, renewed or closed. */
import { DAY_MS } from '../../shared/time.ts';
import { dateNumberAfter } from '../date-number.ts';
import { equipmentTypes } from '../generate/equipment-types.ts';
import { inspectedAt } from '../generate/equipment.ts';
import { completionOf, trainings } from '../generate/employees.ts';
import { isListOfObjects } from '../store/status-rules.ts';
import { closeFollowup, raiseFollowup, replyToFollowup } from './followup-changes.ts';
import type { Followup } from '../records.ts';
import type { LiveContext } from './live-context.ts';

/** Daily probability that a due or late task is done: frequent tasks are seldom forgotten, the others wait longer. */
const inspectedOf = (everyDays: number): number => (everyDays <= 1 ? 0.93 : everyDays <= 7 ? 0.5 : 0.2);
/** Daily probability for a training that lapses within the month, or has lapsed. */
const RENEWED = 0.04;

const FRESH_MS = 21 * DAY_MS;

export function workADay(context: LiveContext): void {
  inspectWhatIsDue(context);
  renewWhatLapses(context);
  goOnWithFollowups(context);
}

function inspectWhatIsDue({ store, random, now }: LiveContext): void {
  const known = new Map(equipmentTypes.flatMap(({ schedules }) => schedules).map((one) => [one.id, one]));
  for (const [key, { isInService, schedules }] of [...store.equipment.entries()]) {
    if (!isInService || !isListOfObjects(schedules)) continue;
    const done = schedules.map((one) => {
      const schedule = known.get(one.schedule_id);
      const isDue = one.expiresOn !== null && one.expiresOn < now + DAY_MS;
      return isDue && schedule !== undefined && random.chance(inspectedOf(schedule.everyDays))
        ? inspectedAt(schedule, now)
        : one;
    });
    if (done.some((one, at) => one !== schedules[at])) store.equipment.update(key, { schedules: done });
  }
}

function renewWhatLapses({ store, random, now }: LiveContext): void {
  const month = dateNumberAfter(now, 30);
  for (const employee of [...store.employees.values()]) {
    if (!isListOfObjects(employee.last_completed)) continue;
    const last_completed = employee.last_completed.map((entry) => {
      const training = trainings.find(({ id }) => id === entry.id);
      const lapses = entry.expiresOn !== null && entry.expiresOn < month;
      if (!lapses || training === undefined || !random.chance(RENEWED)) return entry;
      const renewed = completionOf(training, now, entry.is_required === true);
      store.addCompletion(employee.m_user_id, renewed);
      return renewed;
    });
    if (last_completed.some((entry, at) => entry !== employee.last_completed[at])) {
      store.employees.putLiving({ ...employee, last_completed });
    }
  }
}

/** Closes about as many follow-ups as are raised, mostly recent ones; old ones tend to stay open. */
function goOnWithFollowups(context: LiveContext): void {
  const { store, random, now } = context;
  for (let raised = random.int(0, 2); raised > 0; raised -= 1) raiseFollowup(context);
  const open = [...store.followups.values()].filter((one) => one.open);
  const fresh = open.filter((one) => one.created_on > now - FRESH_MS);
  const pick = () => random.pick(fresh.length > 0 && random.chance(0.8) ? fresh : open);
  const isOpen = ({ id }: Followup) => store.followups.get(id)?.open === true;
  for (let replies = random.int(2, 5); replies > 0 && open.length > 0; replies -= 1) {
    replyToFollowup(context, pick());
  }
  for (let closed = random.int(1, 3); closed > 0 && open.length > 0; closed -= 1) {
    const followup = store.followups.get(pick().id);
    if (followup !== undefined && isOpen(followup)) closeFollowup(context, followup);
  }
}
