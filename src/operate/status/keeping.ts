/** Retention and privacy settings, and streams that still hold data those settings forbid. Pure. */
import type { Config } from '../../config/load-config.ts';
import type { StreamCleaning } from '../../engine/privacy/settings.ts';
import type { StreamName } from '../../engine/streams/stream.ts';

/** Retention and privacy settings of all accounts. */
export interface KeepingStatus {
  /** Days to keep rows that the source deleted; null: forever. The other retention times have the same form. */
  readonly deletedDays: number | null;
  readonly runsDays: number | null;
  /** Days to keep resolved data issues. */
  readonly issuesDays: number | null;
  /** Columns, as `table.column`. */
  readonly omitted: readonly string[];
  readonly pseudonyms: readonly string[];
}

/** A stream that still holds data which the settings forbid. */
export interface UncleanedStream {
  readonly stream: StreamName;
  readonly isUnderWay: boolean;
  /** The next run continues the cleaning. */
  readonly isScheduled: boolean;
}

export function keepingOf({ retention, privacy }: Pick<Config, 'retention' | 'privacy'>): KeepingStatus {
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
