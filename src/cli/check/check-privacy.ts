import type { App } from '../../app.ts';
import type { Queryable } from '../../engine/database/connection.ts';
import { readMigrationStatus } from '../../engine/database/migration-status.ts';
import { countForgotten, type ForgottenCount } from '../../engine/control-tables/stored-privacy.ts';
import { formatNumber, formatTime } from '../../shared/format.ts';
import { SafetySyncError } from '../../shared/errors.ts';
import { readCleaningProgress, readForgottenWithKey } from '../../engine/privacy/settings.ts';
import type { Check } from './check-database.ts';

interface ForgottenFinding extends ForgottenCount {
  readonly finding: string;
  readonly advice: string;
}

/**
 * A database cannot know that it was restored. Its list of forgotten people is as old as the backup, so an operator can compare
 * the newest date in it.
 */
export async function findForgotten(db: Queryable, accountIds: readonly string[]): Promise<ForgottenFinding> {
  const counted = await countForgotten(db, accountIds);
  const { people, lastMs } = counted;
  const are = people === 1 ? 'person is' : 'people are';
  return {
    ...counted,
    finding:
      lastMs === null
        ? 'nobody is forgotten'
        : `${people} ${are} forgotten, the last since ${formatTime(lastMs)}`,
    advice:
      'After a restore from a backup, forget everybody again who was forgotten since it was made: the backup has them as they were.',
  };
}

const toCheck = ({ finding, advice }: ForgottenFinding): Check => ({
  what: 'forgotten people',
  result: 'ok',
  finding,
  advice,
});

/** Empty without privacy settings. */
export async function checkPrivacy({ config, accounts, warehouse }: App): Promise<Check[]> {
  const { connection } = warehouse;
  const { db } = connection;
  if ((await readMigrationStatus(connection)).pending > 0) return [];
  const what = 'privacy';
  const { privacy: settings } = config;
  try {
    for (const { id } of accounts) await readForgottenWithKey(db, id, settings);
  } catch (error) {
    if (!(error instanceof SafetySyncError) || error.code !== 'privacy_key_wrong') throw error;
    return [{ what, result: 'failed', finding: error.message, advice: error.advice, code: error.code }];
  }
  const accountIds = accounts.map(({ id }) => id);
  const progress = await readCleaningProgress(db, accountIds, settings);
  const streams = accounts.flatMap(({ id, offReasons }) =>
    (progress.get(id) ?? []).map((one) => ({ ...one, isScheduled: offReasons[one.stream] === undefined })),
  );
  const isProtected = streams.some(
    ({ policy }) => policy.omit.length + policy.pseudonymize.length + policy.forgotten.length > 0,
  );
  const forgotten: Check[] = settings.key === undefined ? [] : [toCheck(await findForgotten(db, accountIds))];
  if (!isProtected) return forgotten;
  const left = streams.filter((one) => one.progress !== 'done');
  const never = left.filter((one) => !one.isScheduled);
  const columns = formatNumber(settings.omit.length + settings.pseudonymize.length, 'column');
  const names = (some: typeof streams): string => [...new Set(some.map(({ stream }) => stream))].join(', ');
  return [
    {
      what,
      result: never.length === 0 ? 'ok' : 'failed',
      finding:
        left.length === 0
          ? `${columns} protected, and what is stored is in line with that`
          : `${columns} protected; not in line with that yet: ${names(left)}`,
      advice:
        never.length === 0
          ? null
          : `No run is scheduled that would bring ${names(never)} there: safety-sync privacy --clean`,
    },
    ...forgotten,
  ];
}
