/**
 * Slots sorted by a column, oldest first, ties by slot. One flat array: an insert moves all later elements, which takes a
 * fraction of a millisecond for a million, and most inserts are at the end.
 */
export class SlotOrder {
  readonly #column: () => Float64Array;
  #slots: Int32Array;
  #size = 0;

  constructor(column: () => Float64Array, capacity: number) {
    this.#column = column;
    this.#slots = new Int32Array(capacity);
  }

  get size(): number {
    return this.#size;
  }

  at(position: number): number {
    const slot = this.view(0, this.#size)[position];
    if (slot === undefined)
      throw new RangeError(`at: expected a position below ${this.#size}, got ${position}`);
    return slot;
  }

  compare(a: number, b: number): number {
    const column = this.#column();
    return (column[a] ?? 0) - (column[b] ?? 0) || a - b;
  }

  insert(slot: number): void {
    if (this.#size === this.#slots.length) {
      const larger = new Int32Array(Math.max(16, this.#size * 2));
      larger.set(this.#slots);
      this.#slots = larger;
    }
    const last = this.#slots[this.#size - 1];
    const position = last === undefined || this.compare(last, slot) < 0 ? this.#size : this.#find(slot);
    this.#slots.copyWithin(position + 1, position, this.#size);
    this.#slots[position] = slot;
    this.#size += 1;
  }

  /** Call before changing the column, because the slot is found by the old value. */
  remove(slot: number): void {
    const position = this.#find(slot);
    if (this.#slots[position] !== slot) return;
    this.#slots.copyWithin(position, position + 1, this.#size);
    this.#size -= 1;
  }

  range(
    after: number | undefined,
    before: number | undefined,
    bounds: 'exclusive' | 'inclusive',
  ): { from: number; to: number } {
    const inclusive = bounds === 'inclusive';
    const from = after === undefined ? 0 : this.#firstAtOrAbove(after, !inclusive);
    const to = before === undefined ? this.#size : this.#firstAtOrAbove(before, inclusive);
    return { from, to: Math.max(from, to) };
  }

  /** Valid until the next change. */
  view(from: number, to: number): Int32Array {
    return this.#slots.subarray(from, to);
  }

  sortedBy(column: () => Float64Array): SlotOrder {
    const sorted = new SlotOrder(column, this.#slots.length);
    sorted.#slots.set(this.#slots);
    sorted.#size = this.#size;
    sorted.#slots.subarray(0, this.#size).sort((a, b) => sorted.compare(a, b));
    return sorted;
  }

  #find(slot: number): number {
    let low = 0;
    let high = this.#size;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.compare(this.#slots[middle] ?? 0, slot) < 0) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** The first position with a value ≥ `value`, or > `value` if `above`. */
  #firstAtOrAbove(value: number, above: boolean): number {
    const column = this.#column();
    let low = 0;
    let high = this.#size;
    while (low < high) {
      const middle = (low + high) >>> 1;
      const found = column[this.#slots[middle] ?? 0] ?? 0;
      if (found < value || (above && found === value)) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
