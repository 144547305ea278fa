/** A seeded linear congruential generator, for tests only: equal seeds give equal numbers. */
export interface SeededRandom {
  /** An integer from 0 to `below` - 1. */
  below(below: number): number;
  pick<T>(items: readonly T[]): T;
}

export function createRandom(seed: number): SeededRandom {
  let state = (seed * 2_654_435_761 + 12_345) >>> 0;
  const below = (limit: number): number => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * limit);
  };
  return {
    below,
    pick: (items) => {
      const item = items[below(items.length)];
      if (item === undefined) throw new RangeError('pick: the list is empty');
      return item;
    },
  };
}
