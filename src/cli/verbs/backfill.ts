import { type Account, type App, buildApiClient } from '../../app.ts';
import { createRequestMeter } from '../../engine/api/requests.ts';
import { readLedger } from '../../engine/control-tables/backfill-ledger.ts';
import { readMigrationStatus } from '../../engine/database/migration-status.ts';
import { isResumable } from '../../engine/reading/backfill.ts';
import { isWholeTime, toFilters } from '../../engine/reading/creation-time.ts';
import { usageError } from '../../shared/errors.ts';
import { formatNumber } from '../../shared/format.ts';
import { streamNamed } from '../../engine/streams/index.ts';
import type { TimeSlice } from '../../engine/streams/state.ts';
import type { StreamName } from '../../engine/streams/stream.ts';
import { parseDate, parseStreams } from '../arguments.ts';
import { accountFields, streamLabel } from '../run-results.ts';
import { runVerb } from '../run-verb.ts';
import {
  type CommonOptions,
  JSON_OPTION,
  LIFT_PRIVACY_OPTION,
  type Output,
  runWithApp,
  type Verb,
} from '../verb.ts';

interface BackfillOptions extends CommonOptions {
  readonly from?: string;
  readonly to?: string;
  readonly restart?: true;
  readonly plan?: true;
}

function parseRange({ from, to }: BackfillOptions): TimeSlice {
  const fromMs = from === undefined ? -Infinity : parseDate(from, '--from');
  const toMs = to === undefined ? Infinity : parseDate(to, '--to');
  if (fromMs >= toMs) throw usageError('--from must be earlier than --to');
  return { fromMs, toMs };
}

/** Only follow-ups can be requested by time. */
function streamsOf(names: readonly string[], range: TimeSlice): StreamName[] {
  const streams = parseStreams(names);
  if (isWholeTime(range)) return streams;
  const isSliced = (stream: StreamName) => streamNamed(stream).readMode.kind === 'incremental';
  const others = streams.filter((stream) => !isSliced(stream));
  if (names.length > 0 && others.length > 0) {
    const message = `--from and --to: the service has no time filter for ${others.join(', ')}; read them by a command of their own, without a range`;
    throw usageError(message);
  }
  return streams.filter(isSliced);
}

interface BackfillFlags {
  readonly streams: readonly StreamName[];
  readonly range: TimeSlice;
  readonly restart: boolean;
}

/** null: known only after the whole list was read. `records_done`: by a backfill that was cut off and goes on; null: none was. */
interface Plan {
  readonly account_id?: string;
  readonly stream: StreamName;
  readonly records: number | null;
  readonly records_done: number | null;
  readonly requests: number | null;
}

/** Asks the service for one number, and reads how far an earlier backfill came; writes nothing. */
async function planStream(
  {
    app,
    account,
    isMigrated,
  }: { readonly app: App; readonly account: Account; readonly isMigrated: boolean },
  stream: StreamName,
  asked: BackfillFlags,
): Promise<Omit<Plan, 'account_id'>> {
  const { readMode, method, responseKey: listKey } = streamNamed(stream);
  if (readMode.kind !== 'incremental') return { stream, records: null, records_done: null, requests: null };
  const { config, log, signal, db } = app;
  // Without tables there is no request budget to share, and no service that the account belongs to.
  const api = isMigrated ? account.api : buildApiClient(account.config, config.api, { log, store: null });
  try {
    const params = { limit: 1, ...toFilters(asked.range) };
    const { paging } = await api.page({ method, listKey, params, meter: createRequestMeter(), signal });
    const total = paging?.total ?? null;
    const ledger = isMigrated ? await readLedger(db, { accountId: account.id, stream }) : undefined;
    const isResumed = ledger !== undefined && isResumable(ledger.plan, asked);
    const done = isResumed ? ledger.slices.reduce((sum, { records }) => sum + records, 0) : null;
    const records = total === null ? null : Math.max(0, total - (done ?? 0));
    const requests = records === null ? null : Math.ceil(records / readMode.pageSize) + 1;
    return { stream, records, records_done: done, requests };
  } finally {
    if (!isMigrated) await api.close();
  }
}

function describePlan({
  account_id: accountId,
  stream,
  records,
  records_done: done,
  requests,
}: Plan): string {
  const what = records === null ? 'a full re-read' : formatNumber(records, 'record');
  const about = requests === null ? '' : `, about ${formatNumber(requests, 'request')}`;
  const resumed = done === null ? '' : `; goes on after ${formatNumber(done, 'record')} that are stored`;
  return `${streamLabel(accountId, stream)}: ${what}${about}${resumed}`;
}

async function readPlan(app: App, asked: BackfillFlags): Promise<Output> {
  const { pending } = await readMigrationStatus(app.connection);
  const plan: Plan[] = [];
  for (const account of app.accounts) {
    for (const stream of asked.streams) {
      const planned = await planStream({ app, account, isMigrated: pending === 0 }, stream, asked);
      plan.push({ ...accountFields(app.accounts.length > 1, account.id), ...planned });
    }
  }
  return {
    json: { plan, pending_migrations: pending },
    lines: () => [
      ...plan.map(describePlan),
      ...(pending === 0 ? [] : ['The warehouse is not migrated. The backfill migrates first.']),
      'Nothing was written to the warehouse. Leave out --plan to do it.',
    ],
  };
}

export const backfill: Verb<BackfillOptions> = {
  name: 'backfill',
  about:
    'read all records again: follow-ups in slices of creation time, resuming where it was cut off; other streams as a whole',
  hasStreams: true,
  hasAccounts: true,
  options: [
    ['--from <date>', 'follow-ups created on or after this day or time (UTC)'],
    ['--to <date>', 'follow-ups created before this day or time (UTC)'],
    ['--restart', 'begin again instead of resuming'],
    [
      '--plan',
      'only print how much it would read; sends requests, writes no rows, needs no migrated warehouse',
    ],
    LIFT_PRIVACY_OPTION,
    JSON_OPTION,
  ],
  async run(context, options, names) {
    const range = parseRange(options);
    const streams = streamsOf(names, range);
    const { restart = false } = options;
    if (options.plan) {
      return await runWithApp(context, { ...options, needsService: true, migrates: 'by_itself' }, (app) =>
        readPlan(app, { streams, range, restart }),
      );
    }
    return await runVerb(context, options, { kind: 'backfill', streams, range, restart });
  },
};
