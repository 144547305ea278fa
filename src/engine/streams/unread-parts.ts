/** Live rows that no run reads, because their equipment type is not configured any more. Pure. */
import { formatCount, formatNumber, formatTime } from '../../shared/format.ts';

/** A part with its stored rows. */
export interface StoredPart {
  readonly part: string;
  readonly live: number;
  readonly deleted: number;
  /** When the last successful run stored it, ms since 1970; null: before this was recorded. */
  readonly readAtMs: number | null;
}

/** The parts with live rows that are not configured. */
export const unreadOf = (stored: readonly StoredPart[], configured: readonly string[]): StoredPart[] =>
  stored.filter(({ part, live }) => live > 0 && !configured.includes(part));

export const countUnread = (unread: readonly StoredPart[]): number =>
  unread.reduce((sum, { live }) => sum + live, 0);

/** `…: 24 (100, last read 2026-03-01 12:30:05Z)`; null: every live row has a configured type. */
export function describeUnread(unread: readonly StoredPart[]): string | null {
  if (unread.length === 0) return null;
  const types = unread.map(({ part, live, readAtMs }) => {
    const since = readAtMs === null ? 'not known when last read' : `last read ${formatTime(readAtMs)}`;
    return `${part} (${formatCount(live)}, ${since})`;
  });
  return `${formatNumber(countUnread(unread), 'live row')} of equipment types that are not configured, and so not read: ${types.join(', ')}`;
}

/** The operator's choice. */
export const UNREAD_ADVICE =
  'Add a type to SAFETY_EQUIPMENT_TYPES again, or mark its rows deleted: safety-sync equipment-types retire TYPE';
