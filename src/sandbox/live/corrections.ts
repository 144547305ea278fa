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
  const meant = [...store.followups].filter(([, followup]) => isMeant(followup));
  if (meant.length === 0) return;
  const [key, followup] = random.pick(meant);
  store.followups.update(key, change(followup));
}

function changeAnySchedule(
  { store, random }: LiveContext,
  change: (schedule: Schedule, done: number) => Partial<Schedule>,
): void {
  const found = store.equipment.any(random);
  if (found === undefined || !isListOfObjects(found[1].schedules)) return;
  const [key, { schedules }] = found;
  store.equipment.update(key, {
    schedules: schedules.map((schedule, at) =>
      at === 0 && typeof schedule.lastCompletedOn === 'number'
        ? { ...schedule, ...change(schedule, schedule.lastCompletedOn) }
        : schedule,
    ),
  });
}

/** `correct` applies one of them at each call, in this order. */
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
