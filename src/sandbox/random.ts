/** Seeded random numbers (mulberry32): equal seeds give equal sequences. */
export class Random {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  /** An independent generator for each combination of keys, so that a record can be generated alone. */
  static of(seed: number, ...keys: readonly number[]): Random {
    return new Random(mix(seed, ...keys));
  }

  /** 0 ≤ x < 1 */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let t = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
  }

  /** An integer from `min` to `max`, inclusive. */
  int(min: number, max: number): number {
    return min + Math.floor(this.next() * (max - min + 1));
  }

  chance(probability: number): boolean {
    return this.next() < probability;
  }

  pick<T>(items: readonly T[]): T {
    const item = items[Math.floor(this.next() * items.length)];
    if (item === undefined) throw new RangeError('pick: expected at least one item, got none');
    return item;
  }

  /** Up to `count` different items, in the order of the list. */
  sample<T>(items: readonly T[], count: number): T[] {
    const chosen: T[] = [];
    let left = Math.min(count, items.length);
    for (const [position, item] of items.entries()) {
      if (left > 0 && this.next() * (items.length - position) < left) {
        chosen.push(item);
        left -= 1;
      }
    }
    return chosen;
  }

  alphanumeric(length: number, alphabet = '0123456789abcdefghijklmnopqrstuvwxyz'): string {
    let text = '';
    while (text.length < length) text += alphabet.charAt(this.int(0, alphabet.length - 1));
    return text;
  }

  /** The form of many ids of the service. */
  hexadecimal24(): string {
    return this.alphanumeric(24, '0123456789abcdef');
  }
}

/** Spreads adjacent keys far apart (murmur3's finalizer). */
function mix(seed: number, ...keys: readonly number[]): number {
  let hash = seed | 0;
  for (const key of keys) {
    hash = Math.imul(hash ^ key, 0x85ebca6b);
    hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
    hash ^= hash >>> 16;
  }
  return hash >>> 0;
}

export function hashText(text: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < text.length; index += 1) {
    hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  }
  return mix(0, hash);
}
