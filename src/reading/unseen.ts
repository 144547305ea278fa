/** Whether questions by creation time have shown everything that the service counts. */
import type { Received } from '../shared/received.ts';
import { type CreationSlice, timeOf } from './creation-slice.ts';
import { nameOf } from './pages.ts';
import type { SliceReader } from './slice-reader.ts';

/** Records without a usable creation time are of no slice: they are known by name. */
export function collectUndated(list: readonly Received[], keyField: string, undated: Set<string>): void {
  for (const record of list) {
    if (timeOf(record, 'created_on') === undefined) undated.add(nameOf(record, keyField));
  }
}

interface Seen {
  /** Later creations are growth, and need not have been seen. */
  readonly topMs: number;
  /** Different ones. */
  readonly records: number;
  readonly undated: number;
}

/**
 * Whether a slice has records that no question by creation time has shown. It has fewer different ones than its total; or,
 * however many were deleted meanwhile, its total counts some that no filter on creation shows: their `created_on` is
 * unusable, or the service compares it more coarsely than by milliseconds. Only page numbers reach those.
 */
export async function isAnyUnseen(slice: CreationSlice, reader: SliceReader, seen: Seen): Promise<boolean> {
  const isOpen = slice.toMs === null;
  // The total of all comes last: what is created between the questions must not hide anything.
  // A millisecond is left between the bounds: inclusive ones would count the newest records twice.
  const added = isOpen ? await reader.askTotal({ fromMs: seen.topMs + 1, toMs: null }) : 0;
  if (added === undefined) return false;
  const filtered = isOpen ? await reader.askTotal({ fromMs: slice.fromMs, toMs: seen.topMs }) : undefined;
  const total = await reader.askTotal(slice);
  if (total === undefined) return false;
  const expected = total - added;
  return seen.records < expected || (filtered !== undefined && expected - filtered > seen.undated);
}
