/** What is kept how long, what is not stored as it comes, and of which streams something is that may not be any more. Pure. */
import type { Config } from '../config/load-config.ts';
import type { StreamCleaning } from '../sync/privacy.ts';
import type { StreamName } from '../streams/stream.ts';

/** What is kept how long, and what is not stored as it comes: settings of all accounts. */
export interface KeepingReport {
  /** Rows that the source deleted; null: for ever, and so of the others. */
  readonly deletedDays: number | null;
  readonly runsDays: number | null;
  /** Resolved data issues. */
  readonly issuesDays: number | null;
  /** `table.column` each. */
  readonly omitted: readonly string[];
  readonly pseudonyms: readonly string[];
}

/** A stream of which something is stored that may not be any more. */
export interface UncleanedStream {
  readonly stream: StreamName;
  readonly isUnderWay: boolean;
  /** Its next run goes on with it. */
  readonly isScheduled: boolean;
}

export function keepingOf({ retention, privacy }: Pick<Config, 'retention' | 'privacy'>): KeepingReport {
  return {
    deletedDays: retention.deletedDays ?? null,
    runsDays: retention.runsDays ?? null,
    issuesDays: retention.issuesDays ?? null,
    omitted: privacy.omit,
    pseudonyms: privacy.pseudonymize,
  };
}

export const uncleanedOf = (cleanings: readonly StreamCleaning[]): Omit<UncleanedStream, 'isScheduled'>[] =>
  cleanings
    .filter(({ progress }) => progress !== 'done')
    .map(({ stream, progress }) => ({ stream, isUnderWay: progress === 'under_way' }));
