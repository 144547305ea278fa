import type { World } from '../generate/world.ts';
import type { Random } from '../random.ts';
import type { SandboxStore } from '../store/sandbox-store.ts';

/** Context of a change. `now` is the service's time in ms. */
export interface LiveContext {
  world: World;
  store: SandboxStore;
  random: Random;
  now: number;
}

/** An id that no record of the table has. */
export function freshId(from: number, taken: { has(key: string): boolean }): string {
  let number = from;
  while (taken.has(String(number))) number += 1;
  return String(number);
}
