/** Rows that stay although the part of the stream that they came with, an equipment type, is configured no more. Pure. */
import { formatCount, formatNumber, formatTime } from '../shared/format.ts';

/** A part of which rows are stored. */
export interface StoredPart {
  readonly part: string;
  readonly live: number;
  readonly deleted: number;
  /** When the last successful run that asked for it began to store, ms since 1970; null: before that was recorded. */
  readonly readAtMs: number | null;
}

/** Those with live rows that no run asks for any more. */
export const unreadOf = (stored: readonly StoredPart[], configured: readonly string[]): StoredPart[] =>
  stored.filter(({ part, live }) => live > 0 && !configured.includes(part));

export const countUnread = (unread: readonly StoredPart[]): number =>
  unread.reduce((sum, { live }) => sum + live, 0);

/** `…: 24 (100, last read 2026-03-01 12:30:05Z)`; null: every live row is of a configured type. */
export function describeUnread(unread: readonly StoredPart[]): string | null {
  if (unread.length === 0) return null;
  const types = unread.map(({ part, live, readAtMs }) => {
    const since = readAtMs === null ? 'not known when last read' : `last read ${formatTime(readAtMs)}`;
    return `${part} (${formatCount(live)}, ${since})`;
  });
  return `${formatNumber(countUnread(unread), 'live row')} of equipment types that are not configured, and so not read: ${types.join(', ')}`;
}

/** What to do about them. */
export const UNREAD_ADVICE =
  'Add a type to SAFETY_EQUIPMENT_TYPES again, or mark its rows deleted: safety-sync equipment-types retire TYPE';
