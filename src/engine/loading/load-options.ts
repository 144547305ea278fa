/** The options of a load, which all its layers read. */
import type { StreamSession } from '../control-tables/stream-session.ts';
import type { StreamShape } from '../database/table-shape.ts';
import type { RecordProtection } from './record.ts';

export interface LoadOptions {
  readonly session: StreamSession;
  readonly shape: StreamShape;
  readonly accountId: string;
  readonly runId: number;
  /** Applied to a record before all other work; null: everything may be stored. */
  readonly protection: RecordProtection | null;
  /** A snapshot that lacks more than this share of the live rows is suspicious; Infinity: none is. */
  readonly maxDeleteRatio: number;
  /** Stored rows may have been changed in the warehouse: every record is staged, and compared column by column. */
  readonly fullCompare: boolean;
  /** The keys of all received records are recorded, to find deleted records, unless the account has no rows. */
  readonly tracksSeen: boolean;
}
