/** Corrections of wrong inspections and closings, and records of a device with a clock that is ahead. */
import type { Followup, Schedule } from '../records.ts';
import { DAY_MS } from '../../shared/time.ts';
import { isListOfObjects } from '../store/status-rules.ts';
import type { LiveContext } from './live-context.ts';

const YEAR_MS = 365 * DAY_MS;

function changeAnyFollowup(
  { store, random }: LiveContext,
  isMeant: (followup: Followup) => boolean,
  change: (followup: Followup) => Partial<Followup>,
): void {
  const meant = [...store.followups.keys()].filter((key) => {
    const followup = store.followups.get(key);
    return followup !== undefined && isMeant(followup);
  });
  if (meant.length === 0) return;
  const key = random.pick(meant);
  const followup = store.followups.get(key);
  if (followup !== undefined) store.followups.update(key, change(followup));
}

function changeAnySchedule(
  { store, random }: LiveContext,
  change: (schedule: Schedule, done: number) => Partial<Schedule>,
): void {
  const key = store.equipment.anyKey(random);
  const equipment = key === undefined ? undefined : store.equipment.get(key);
  if (key === undefined || equipment === undefined || !isListOfObjects(equipment.schedules)) return;
  store.equipment.update(key, {
    schedules: equipment.schedules.map((schedule, at) =>
      at === 0 && typeof schedule.lastCompletedOn === 'number'
        ? { ...schedule, ...change(schedule, schedule.lastCompletedOn) }
        : schedule,
    ),
  });
}

/** `correct` applies them in this order, again and again. */
export const CORRECTIONS: readonly ((context: LiveContext) => void)[] = [
  (context) => changeAnySchedule(context, (_, done) => ({ lastCompletedOn: done + YEAR_MS })),
  (context) => changeAnySchedule(context, (_, done) => ({ lastCompletedOn: done - DAY_MS })),
  (context) => changeAnySchedule(context, () => ({ lastCompletedOn: null })),
  // The service may keep the completion.
  (context) =>
    changeAnyFollowup(
      context,
      ({ open }) => !open,
      () => ({ open: true, updated_on: context.now }),
    ),
  (context) =>
    changeAnyFollowup(
      context,
      ({ open, resolved_on: at }) => !open && typeof at === 'number',
      ({ resolved_on: at }) => ({ resolved_on: (at ?? 0) - 2 * DAY_MS, updated_on: context.now }),
    ),
  (context) =>
    changeAnyFollowup(
      context,
      ({ open }) => open,
      () => ({ created_on: context.now + YEAR_MS, updated_on: context.now + YEAR_MS }),
    ),
];
