import { MINUTE_MS } from '../../shared/time.ts';
import { STREAM, type World } from '../generate/world.ts';
import { Random } from '../random.ts';
import type { SandboxStore } from '../store/sandbox-store.ts';
import { changeEquipment, changeResource } from './asset-changes.ts';
import { CORRECTIONS } from './corrections.ts';
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

/** Seeded random changes: equal steps at equal times give an equal source. */
export class LiveSource {
  readonly #world: World;
  readonly #store: SandboxStore;
  readonly #clock: () => number;
  readonly #random: Random;
  readonly #changes: readonly (readonly [number, Change])[];
  readonly #perTick: number;
  #owed = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: LiveOptions & { world: World; store: SandboxStore; clock: () => number }) {
    this.#world = options.world;
    this.#store = options.store;
    this.#clock = options.clock;
    this.#random = Random.of(options.world.seed, STREAM.live);
    this.#changes = options.deletions === true ? [...usualChanges, [4, deleteSomething]] : usualChanges;
    this.#perTick = ((options.changesPerMinute ?? 60) * TICK_MS) / MINUTE_MS;
  }

  /** Applies this many changes now. */
  step(changes: number): void {
    for (let made = 0; made < changes; made += 1) this.#pick()(this.#context());
  }

  /** Simulates a day of routine work: most tasks that are due are done. */
  day(): void {
    workADay(this.#context());
  }

  /** Applies this many corrections: of wrong inspections and closings, and of records by clocks that are ahead. */
  correct(corrections: number): void {
    for (let made = 0; made < corrections; made += 1)
      CORRECTIONS[made % CORRECTIONS.length]?.(this.#context());
  }

  /** Applies changes until `stop`, at the rate of the options. */
  start(): void {
    this.#timer ??= setInterval(() => {
      this.#owed += this.#perTick;
      const due = Math.floor(this.#owed);
      this.#owed -= due;
      this.step(due);
    }, TICK_MS);
    // The timer alone does not keep the process alive; its server does.
    this.#timer.unref();
  }

  stop(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  #context(): LiveContext {
    return { world: this.#world, store: this.#store, random: this.#random, now: this.#clock() };
  }

  #pick(): Change {
    const total = this.#changes.reduce((sum, [weight]) => sum + weight, 0);
    let roll = this.#random.next() * total;
    for (const [weight, change] of this.#changes) {
      roll -= weight;
      if (roll < 0) return change;
    }
    return raiseFollowup;
  }
}
