import { MINUTE_MS } from '../../shared/time.ts';
import { STREAM, type World } from '../generate/world.ts';
import { Random } from '../random.ts';
import type { SandboxStore } from '../store/sandbox-store.ts';
import { changeFollowup, raiseFollowup, workOnFollowups } from './followup-changes.ts';
import type { LiveContext } from './live-context.ts';
import { changeEmployee, changeEquipment, changeResource, inspectAndRenew } from './other-changes.ts';

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
  const { followups, resources, employees, equipment } = store;
  const table = random.pick([followups, followups, resources, employees, equipment]);
  const [key] = table.any(random) ?? [];
  if (key !== undefined) table.delete(key);
}

const TICK_MS = 250;

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
  /** Applies this many changes now. */
  const step = (count: number): void => {
    for (let made = 0; made < count; made += 1) {
      let roll = random.next() * total;
      const [, change] = changes.find(([weight]) => (roll -= weight) < 0) ?? usualChanges[0] ?? [];
      change?.(context());
    }
  };
  return {
    step,
    /** Simulates a day of routine work: most tasks that are due are done. */
    day(): void {
      inspectAndRenew(context());
      workOnFollowups(context());
    },
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
