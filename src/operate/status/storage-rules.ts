/** Retention and privacy settings, and streams that still hold data those settings forbid. Pure. */
import type { OffReasons } from '../../config/account-config.ts';
import type { Config } from '../../config/load-config.ts';
import type { StreamCleaning } from '../../engine/privacy/settings.ts';
import type { StreamName } from '../../engine/streams/stream.ts';

/** Retention and privacy settings of all accounts. */
export interface StorageRules {
  /** Days until rows that the source deleted are removed; null: never. The other retention times have the same form. */
  readonly deletedDays: number | null;
  readonly runsDays: number | null;
  /** Days until resolved data issues are removed. */
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

export function storageRulesOf({ retention, privacy }: Pick<Config, 'retention' | 'privacy'>): StorageRules {
  return {
    deletedDays: retention.deletedDays ?? null,
    runsDays: retention.runsDays ?? null,
    issuesDays: retention.issuesDays ?? null,
    omitted: privacy.omit,
    pseudonyms: privacy.pseudonymize,
  };
}

export const uncleanedOf = (
  cleanings: readonly Pick<StreamCleaning, 'stream' | 'progress'>[],
  offReasons: OffReasons,
): UncleanedStream[] =>
  cleanings
    .filter(({ progress }) => progress !== 'done')
    .map(({ stream, progress }) => ({
      stream,
      isUnderWay: progress === 'under_way',
      isScheduled: offReasons[stream] === undefined,
    }));
