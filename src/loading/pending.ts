/** What an open transaction holds, until it is committed or taken back. */
import type { ReadRecord } from './identify.ts';
import type { Prepared } from './prepare-chunk.ts';
import { noCounts, type RecordCounts } from '../database/record-counts.ts';

/** Records that are compared and made rows while others are being stored. */
export interface Chunk {
  readonly records: readonly ReadRecord[];
  readonly prepared: Promise<Prepared>;
  /** The number of the transaction that was open when that began. */
  readonly transaction: number;
}

export interface Pending {
  /** Chunks that are not being stored yet. */
  ahead: Chunk[];
  /** When the store that takes them begins; undefined: none was asked for. */
  turn: Promise<void> | undefined;
  readonly counts: RecordCounts;
  /** Records that came. */
  records: number;
  /** Records in the staging tables. */
  staged: number;
  issues: number;
  readonly userIds: Set<string>;
  /** Keys of records that went straight into their tables, of a stream whose days are counted. */
  addedKeys: string[];
  readonly resolvedIdentities: Set<string>;
  readonly resolvedKeys: Set<string>;
}

export const nothingPending = (): Pending => ({
  ahead: [],
  turn: undefined,
  counts: noCounts(),
  records: 0,
  staged: 0,
  issues: 0,
  userIds: new Set(),
  addedKeys: [],
  resolvedIdentities: new Set(),
  resolvedKeys: new Set(),
});

export const copyOf = (pending: Pending): Pending => ({
  ...pending,
  ahead: [...pending.ahead],
  counts: { ...pending.counts },
  userIds: new Set(pending.userIds),
  addedKeys: [...pending.addedKeys],
  resolvedIdentities: new Set(pending.resolvedIdentities),
  resolvedKeys: new Set(pending.resolvedKeys),
});
