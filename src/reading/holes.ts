/**
 * Holes: parts of creation time that are left out because the service fails for a record of them. Pure; times in ms since
 * 1970. The ledger keeps them until they are read, so what is not stored is known through restarts.
 */
import type { TimeSlice } from '../streams/state.ts';
import type { CreationSlice } from './creation-slice.ts';

/** Where a failing part without bounds is divided, and what the ledger has for them. */
export const FAILING_TIME: TimeSlice = { fromMs: 0, toMs: Date.parse('2100-01-01T00:00:00Z') };

/** A part that was left out, as the ledger has it. */
export const toHole = ({ fromMs, toMs }: CreationSlice): TimeSlice => ({
  fromMs: fromMs ?? FAILING_TIME.fromMs,
  toMs: toMs ?? FAILING_TIME.toMs,
});

/** How a hole of the ledger is asked for. */
export const toPart = ({ fromMs, toMs }: TimeSlice): CreationSlice => ({
  fromMs: fromMs <= FAILING_TIME.fromMs ? null : fromMs,
  toMs: toMs >= FAILING_TIME.toMs ? null : toMs,
});

/** The parts of a slice between holes, oldest first. */
export function partsBetween(slice: CreationSlice, holes: readonly TimeSlice[]): CreationSlice[] {
  const parts: CreationSlice[] = [];
  let fromMs = slice.fromMs;
  for (const hole of holes.toSorted((one, other) => one.fromMs - other.fromMs)) {
    const part = toPart(hole);
    if (part.fromMs !== null && part.fromMs > (fromMs ?? -Infinity))
      parts.push({ fromMs, toMs: part.fromMs });
    if (part.toMs === null) return parts;
    fromMs = Math.max(fromMs ?? part.toMs, part.toMs);
  }
  return [...parts, { fromMs, toMs: slice.toMs }];
}
