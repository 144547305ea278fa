import type { App } from '../app.ts';
import { readMigrationStatus } from '../database/migrate.ts';
import { formatNumber } from '../shared/format.ts';
import { SafetySyncError } from '../shared/errors.ts';
import { STREAMS } from '../streams/index.ts';
import { readCleaningProgress, readPrivacy } from '../sync/privacy.ts';
import type { Check } from './check-database.ts';

/** Nothing to say where everything is stored as it comes and nobody was forgotten. */
export async function checkPrivacy({ config, accounts, warehouse }: App): Promise<Check[]> {
  const { connection } = warehouse;
  const { db } = connection;
  if ((await readMigrationStatus(connection)).pending > 0) return [];
  const what = 'privacy';
  const { privacy: settings } = config;
  try {
    for (const { id: accountId } of accounts) {
      for (const stream of STREAMS.slice(0, 1)) await readPrivacy(db, { stream, accountId, settings });
    }
  } catch (error) {
    if (!(error instanceof SafetySyncError) || error.code !== 'privacy_key_wrong') throw error;
    return [{ what, result: 'failed', finding: error.message, advice: error.advice, code: error.code }];
  }
  const progress = await readCleaningProgress(
    db,
    accounts.map(({ id }) => id),
    settings,
  );
  const streams = accounts.flatMap(({ id, offReasons }) =>
    (progress.get(id) ?? []).map((one) => ({ ...one, isScheduled: offReasons[one.stream] === undefined })),
  );
  const isProtected = streams.some(
    ({ policy }) => policy.omit.length + policy.pseudonymize.length + policy.forgotten.length > 0,
  );
  if (!isProtected) return [];
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
  ];
}
