/** Live rows that no run reads, because their equipment type is not configured any more. Pure. */
import { formatCount, formatNumber, formatTime } from '../../shared/format.ts';

/** A partition with its stored rows. */
export interface StoredPartition extends Record<string, unknown> {
  readonly accountId: string;
  readonly partition: string;
  readonly live: number;
  /** Time of the last successful run that stored it, ms since 1970; null: no time was recorded. */
  readonly readAtMs: number | null;
}

/** The partitions with live rows that are not configured. Where none are, every one is read. */
export const unreadOf = (
  stored: readonly StoredPartition[],
  configured: readonly string[],
): StoredPartition[] =>
  configured.length === 0
    ? []
    : stored.filter(({ partition, live }) => live > 0 && !configured.includes(partition));

/** `…: 24 (100, last read 2026-03-01 12:30:05Z)`; null: every live row has a configured type. */
export function describeUnread(unread: readonly StoredPartition[]): string | null {
  if (unread.length === 0) return null;
  const types = unread.map(({ partition, live, readAtMs }) => {
    const since = readAtMs === null ? 'not known when last read' : `last read ${formatTime(readAtMs)}`;
    return `${partition} (${formatCount(live)}, ${since})`;
  });
  const rows = unread.reduce((sum, { live }) => sum + live, 0);
  return `${formatNumber(rows, 'live row')} of equipment types that are not configured, and so not read: ${types.join(', ')}`;
}

/** The operator's choice. */
export const UNREAD_ADVICE =
  'Add a type to SAFETY_EQUIPMENT_TYPES again, or mark its rows deleted: safety-sync equipment-types retire TYPE';
