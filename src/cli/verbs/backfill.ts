import type { App } from '../../app.ts';
import { type BackfillForecast, forecastBackfill } from '../forecast-backfill.ts';
import { type MigrationStatus, readMigrationStatus } from '../../engine/database/migration-status.ts';
import { isWholeTime } from '../../engine/reading/creation-slice.ts';
import { usageError } from '../../shared/errors.ts';
import { formatCount, formatNumber } from '../../shared/format.ts';
import { streamNamed } from '../../engine/streams/index.ts';
import type { TimeSlice } from '../../engine/streams/state.ts';
import type { StreamName } from '../../engine/streams/stream.ts';
import { parseDate, parseStreams } from '../arguments.ts';
import { accountFields, streamLabel } from '../run-results.ts';
import { runVerb } from '../run-verb.ts';
import type { Colors } from '../terminal.ts';
import {
  type Output,
  type CommonOptions,
  type CommandContext,
  JSON_OPTION,
  type Verb,
  runWithApp,
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
function checkRange(streams: readonly StreamName[], range: TimeSlice): StreamName[] {
  if (isWholeTime(range)) return [...streams];
  const sliced = streams.filter((stream) => streamNamed(stream).readMode.kind === 'incremental');
  if (sliced.length === 0) {
    const message = `--from and --to: the service has no time filter for ${streams.join(', ')}; leave them out for a full re-read`;
    throw usageError(message);
  }
  return sliced;
}

interface AccountForecast extends BackfillForecast {
  readonly account_id?: string;
}

function describeForecast(
  { account_id: accountId, records, requests, slices, slicesDone, stream }: AccountForecast,
  colors: Colors,
): string {
  const what = records === null ? 'an unknown number of records' : formatNumber(records, 'record');
  const cut = slices === 0 ? 'a full re-read' : formatNumber(slices, 'slice');
  const asked = requests === null ? '' : `, about ${formatNumber(requests, 'request')}`;
  const resumed =
    slicesDone === null
      ? ''
      : `; goes on where it was cut off (${formatCount(slicesDone)} of ${formatCount(slices)} slices are done)`;
  return `${colors.bold(streamLabel(accountId, stream))}: ${what}, ${cut}${asked}${resumed}`;
}

function describePending({ known, pending }: MigrationStatus): string[] {
  if (pending === 0) return [];
  const lacks =
    pending === known
      ? 'it has none of the tables'
      : `${pending} of ${formatNumber(known, 'migration')} are missing, so how far an earlier backfill came is not known here`;
  return [`The warehouse is not migrated: ${lacks}. The backfill migrates first.`];
}

/**
 * Requests totals from the service and reads the ledger; the warehouse is not changed, even if it has no
 * tables yet.
 */
async function readPlan(
  { terminal }: CommandContext,
  { accounts, connection }: App,
  { streams, range, restart }: BackfillAsked,
): Promise<Output> {
  const status = await readMigrationStatus(connection);
  const isMigrated = status.pending === 0;
  const plan: AccountForecast[] = [];
  for (const account of accounts) {
    for (const stream of streams) {
      const request = { stream, range, restart, isMigrated };
      const forecast = await forecastBackfill(account.runContext(), request);
      plan.push({ ...accountFields(accounts.length > 1, account.id), ...forecast });
    }
  }
  return {
    json: { plan, pending_migrations: status.pending },
    lines: () => [
      ...plan.map((forecast) => describeForecast(forecast, terminal.colors)),
      ...describePending(status),
      'Nothing was written to the warehouse. Leave out --plan to do it.',
    ],
  };
}

interface BackfillAsked {
  readonly streams: readonly StreamName[];
  readonly range: TimeSlice;
  readonly restart: boolean;
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
    JSON_OPTION,
  ],
  async run(context, options, names) {
    const range = parseRange(options);
    const streams = checkRange(parseStreams(names), range);
    const { restart = false } = options;
    if (options.plan) {
      return await runWithApp(context, { ...options, needsService: true, migrates: 'by_itself' }, (app) =>
        readPlan(context, app, { streams, range, restart }),
      );
    }
    return await runVerb(context, options, { kind: 'backfill', streams, range, restart });
  },
};
