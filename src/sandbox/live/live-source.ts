import { MINUTE_MS } from '../../shared/time.ts';
import { STREAM, type World } from '../generate/world.ts';
import { Random } from '../random.ts';
import type { SandboxStore } from '../store/sandbox-store.ts';
import { changeEquipment, changeResource } from './asset-changes.ts';
import { workADay } from './daily-round.ts';
import { changeFollowup, raiseFollowup } from './followup-changes.ts';
import type { LiveContext } from './live-context.ts';
import { changeEmployee } from './people-changes.ts';

export interface LiveOptions {
  /** Changes per minute of real time while started. Default 60. */
  changesPerMinute?: number;
  /** Whether records are also deleted. Default false. */
  deletions?: boolean;
}

type Change = (context: LiveContext) => void;

const usualChanges: readonly (readonly [weight: number, change: Change])[] = [
  [25, raiseFollowup],
  [40, changeFollowup],
  [15, changeEmployee],
  [15, changeEquipment],
  [5, changeResource],
];

function deleteSomething({ store, random }: LiveContext): void {
  const table = random.pick([
    store.followups,
    store.followups,
    store.resources,
    store.employees,
    store.equipment,
  ]);
  const [key] = table.any(random) ?? [];
  if (key !== undefined) table.delete(key);
}

const TICK_MS = 250;

export type LiveSource = ReturnType<typeof createLiveSource>;

/** Seeded random changes: equal steps at equal times give an equal source. */
export function createLiveSource({
  world,
  store,
  clock,
  changesPerMinute = 60,
  deletions = false,
}: LiveOptions & { world: World; store: SandboxStore; clock: () => number }) {
  const random = Random.of(world.seed, STREAM.live);
  const changes = deletions ? [...usualChanges, [4, deleteSomething] as const] : usualChanges;
  const total = changes.reduce((sum, [weight]) => sum + weight, 0);
  let owed = 0;
  let timer: NodeJS.Timeout | undefined;
  const context = (): LiveContext => ({ world, store, random, now: clock() });
  const pick = (): Change => {
    let roll = random.next() * total;
    const picked = changes.find(([weight]) => {
      roll -= weight;
      return roll < 0;
    });
    return picked?.[1] ?? raiseFollowup;
  };
  /** Applies this many changes now. */
  const step = (count: number): void => {
    for (let made = 0; made < count; made += 1) pick()(context());
  };
  return {
    step,
    /** Simulates a day of routine work: most tasks that are due are done. */
    day: (): void => workADay(context()),
    /** Applies changes until `stop`, at the rate of the options. */
    start(): void {
      timer ??= setInterval(() => {
        owed += (changesPerMinute * TICK_MS) / MINUTE_MS;
        const due = Math.floor(owed);
        owed -= due;
        step(due);
      }, TICK_MS);
      // The timer alone does not keep the process alive; its server does.
      timer.unref();
    },
    stop(): void {
      clearInterval(timer);
      timer = undefined;
    },
  };
}
