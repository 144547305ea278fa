/** Retention, privacy and other settings, and how stored data differs from them. Pure. */
import type { OffReasons } from '../../config/account-config.ts';
import type { Config } from '../../config/load-config.ts';
import type { StreamCleaning } from '../../engine/privacy/settings.ts';
import type { StreamName } from '../../engine/streams/stream.ts';
import { UNREAD_ADVICE } from '../../engine/streams/unread-partitions.ts';
import { formatNumber } from '../../shared/format.ts';
import { DAY_MS } from '../../shared/time.ts';
import type { StreamFacts } from './read-accounts.ts';

export type StorageRules = ReturnType<typeof storageRulesOf>;

/** Retention and privacy settings of all accounts. */
export const storageRulesOf = ({ retention, privacy }: Pick<Config, 'retention' | 'privacy'>) => ({
  /** Days until rows that the source deleted are removed; null: never. The other retention times have the same form. */
  deletedDays: retention.deletedDays ?? null,
  runsDays: retention.runsDays ?? null,
  /** Days until resolved data issues are removed. */
  issuesDays: retention.issuesDays ?? null,
  /** Columns, as `table.column`. */
  omitted: privacy.omit,
  pseudonyms: privacy.pseudonymize,
});

export function describeRetention({ deletedDays, runsDays, issuesDays }: StorageRules): string {
  const periods = [
    ['rows that the source deleted', deletedDays],
    ['runs', runsDays],
    ['resolved data issues', issuesDays],
  ] as const;
  if (periods.every(([, days]) => days === null))
    return 'Kept for ever: rows that the source deleted, runs, resolved data issues.';
  const texts = periods.map(
    ([what, days]) => `${what} ${days === null ? 'for ever' : formatNumber(days, 'day')}`,
  );
  return `Kept: ${texts.join(', ')}.`;
}

/** Describes privacy settings; null: there are none. */
export function describeProtection({ omitted, pseudonyms }: StorageRules): string | null {
  const phrases = [
    ...(omitted.length === 0 ? [] : [`Never stored: ${omitted.join(', ')}.`]),
    ...(pseudonyms.length === 0 ? [] : [`Stored as pseudonyms: ${pseudonyms.join(', ')}.`]),
  ];
  return phrases.length === 0 ? null : phrases.join(' ');
}

type UncleanedStream = ReturnType<typeof uncleanedOf>[number];

/** Streams that still hold data which the settings forbid. */
export const uncleanedOf = (
  cleanings: readonly Pick<StreamCleaning, 'stream' | 'progress'>[],
  offReasons: OffReasons,
) =>
  cleanings
    .filter(({ progress }) => progress !== 'done')
    .map(({ stream, progress }) => ({
      stream,
      isUnderWay: progress === 'under_way',
      /** The next run continues the cleaning. */
      isScheduled: offReasons[stream] !== 'not scheduled',
    }));

/** Retention removes once a day; after this time it has not caught up. */
const RETENTION_LATE_MS = 2 * DAY_MS;

/** Streams with data that is older than its retention. */
export function expiredOf(
  streams: readonly Pick<StreamFacts, 'stream' | 'lastSuccessMs' | 'retainedMs'>[],
  { deletedDays, runsDays, issuesDays }: StorageRules,
  nowMs: number,
): StreamName[] {
  if (deletedDays === null && runsDays === null && issuesDays === null) return [];
  return streams
    .filter(({ lastSuccessMs }) => lastSuccessMs !== null)
    .filter(({ retainedMs }) => retainedMs === null || nowMs - retainedMs > RETENTION_LATE_MS)
    .map(({ stream }) => stream);
}

/** Describes stored data that the settings forbid, and the command that removes it; null: there is none. */
export function describeUncleaned(streams: readonly UncleanedStream[]): string | null {
  if (streams.length === 0) return null;
  const names = streams.map(({ stream, isUnderWay, isScheduled }) =>
    isUnderWay ? `${stream} (under way)` : isScheduled ? stream : `${stream} (no run is scheduled)`,
  );
  return `Stored data does not match the privacy settings yet: ${names.join(', ')}. The next run of each stream rewrites it; to rewrite it now: safety-sync privacy --clean`;
}

interface Differences {
  readonly uncleaned: readonly UncleanedStream[];
  /** Stored equipment of types that are not configured, in words; null: none. */
  readonly unread: string | null;
  /** The reporting time zone of this program's settings, and the one in the warehouse, which another program wrote. */
  readonly otherTimezone: { readonly own: string; readonly stored: string } | null;
  /** Streams with data that is older than its retention. */
  readonly expired: readonly StreamName[];
}

/** How stored data differs from the settings, one sentence for each difference. */
export function differencesOf({ uncleaned, unread, otherTimezone, expired }: Differences): string[] {
  return [
    describeUncleaned(uncleaned),
    unread === null ? null : `${unread}. ${UNREAD_ADVICE}`,
    otherTimezone === null
      ? null
      : `Days begin in ${otherTimezone.stored} and not in ${otherTimezone.own}, this worker’s REPORTING_TIMEZONE, because another program has changed it. This worker sets its own again when it starts.`,
    expired.length === 0
      ? null
      : `Data of ${expired.join(', ')} is still stored, although it is older than its retention. Runs remove it in parts, and the log names errors.`,
  ].filter((text) => text !== null);
}
