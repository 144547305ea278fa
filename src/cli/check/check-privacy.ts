import type { App } from '../../app.ts';
import type { Queryable } from '../../engine/database/connection.ts';
import { countForgotten } from '../../engine/control-tables/stored-privacy.ts';
import { formatNumber, formatTime } from '../../shared/format.ts';
import { SafetySyncError } from '../../shared/errors.ts';
import { readCleaningProgress, readForgottenWithKey } from '../../engine/privacy/settings.ts';
import { type Check, failed, ok } from './finding.ts';

/**
 * A database cannot know that it was restored. Its list of forgotten people is as old as the backup, so an operator can compare
 * the newest date in it.
 */
export async function findForgotten(db: Queryable, accountIds: readonly string[]) {
  const counted = await countForgotten(db, accountIds);
  const { people, lastMs } = counted;
  const are = people === 1 ? 'person is' : 'people are';
  return {
    ...counted,
    finding:
      lastMs === null
        ? 'no person is forgotten'
        : `${people} ${are} forgotten, the last since ${formatTime(lastMs)}`,
    advice:
      'After a restore from a backup, forget all people again who were forgotten after the backup: it still contains them.',
  };
}

/** Empty without privacy settings. */
export async function checkPrivacy({ config, accounts, accountIds, db }: App): Promise<Check[]> {
  const what = 'privacy';
  const { privacy: settings } = config;
  try {
    for (const id of accountIds) await readForgottenWithKey(db, id, settings);
  } catch (error) {
    if (!(error instanceof SafetySyncError) || error.code !== 'privacy_key_wrong') throw error;
    return [{ ...failed(what, error.message, error.advice), code: error.code }];
  }
  const progress = await readCleaningProgress(db, accountIds, settings);
  const streams = accounts.flatMap(({ id, offReasons }) =>
    (progress.get(id) ?? []).map((one) => ({
      ...one,
      isScheduled: offReasons[one.stream] !== 'not scheduled',
    })),
  );
  const isProtected = streams.some(
    ({ policy }) => policy.omit.length + policy.pseudonymize.length + policy.forgotten.length > 0,
  );
  const forgotten: Check[] = [];
  if (settings.key !== undefined) {
    const { finding, advice } = await findForgotten(db, accountIds);
    forgotten.push(ok('forgotten people', finding, advice));
  }
  if (!isProtected) return forgotten;
  const left = streams.filter((one) => one.progress !== 'done');
  const never = left.filter((one) => !one.isScheduled);
  const columns = `${formatNumber(settings.omit.length + settings.pseudonymize.length, 'column')} protected`;
  const names = (some: typeof streams): string => [...new Set(some.map(({ stream }) => stream))].join(', ');
  const state =
    left.length === 0
      ? `${columns}, and what is stored is in line with that`
      : `${columns}; not in line with that yet: ${names(left)}`;
  const remedy = `No run is scheduled that would bring ${names(never)} there: safety-sync privacy --clean`;
  return [never.length === 0 ? ok(what, state) : failed(what, state, remedy), ...forgotten];
}
