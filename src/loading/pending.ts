/** What an open transaction holds, until it is committed or taken back. */
import { noCounts, type RecordCounts } from '../database/record-counts.ts';

export interface Pending {
  readonly counts: RecordCounts;
  /** Records that came. */
  records: number;
  /** Records in the staging tables. */
  staged: number;
  issues: number;
  readonly userIds: Set<string>;
  readonly repairedIdentities: Set<string>;
  readonly repairedKeys: Set<string>;
}

export const nothingPending = (): Pending => ({
  counts: noCounts(),
  records: 0,
  staged: 0,
  issues: 0,
  userIds: new Set(),
  repairedIdentities: new Set(),
  repairedKeys: new Set(),
});

export const copyOf = (pending: Pending): Pending => ({
  ...pending,
  counts: { ...pending.counts },
  userIds: new Set(pending.userIds),
  repairedIdentities: new Set(pending.repairedIdentities),
  repairedKeys: new Set(pending.repairedKeys),
});
