/** The options of a load, which all its layers read. */
import type { OpenIssues } from '../control-tables/issues.ts';
import type { StreamSession } from '../control-tables/stream-session.ts';
import type { StreamShape } from '../database/table-shape.ts';

/** Makes of a record what may be stored (privacy settings, forgotten people). */
export interface RecordProtection {
  /** Part of the checksums, because a checksum without it would confirm a guess of a protected value. */
  readonly secret: string;
  /** Returns a copy without protected values, or the record itself if it has none. */
  ofRecord(received: unknown): unknown;
  /** Names of fields that `ofRecord` drops although the service is not known to send them. */
  unknownIn(received: unknown): readonly string[];
}

export interface LoadOptions {
  readonly session: StreamSession;
  readonly shape: StreamShape;
  readonly accountId: string;
  readonly runId: number;
  /** Applied to a record before all other work; null: everything may be stored. */
  readonly protection: RecordProtection | null;
  readonly guard: {
    /** A snapshot that lacks more than this share of the live rows is suspicious. */
    readonly maxRatio: number;
    readonly allowMassDelete: boolean;
  };
  /** Stored rows may have been changed in the warehouse: every record is staged, and compared column by column. */
  readonly fullCompare: boolean;
  /** The keys of all received records are recorded, to find deleted records. */
  readonly tracksSeen: boolean;
  readonly openIssues: OpenIssues;
}
