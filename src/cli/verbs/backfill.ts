import { type App, buildApiClient } from '../../app.ts';
import type { ApiClient } from '../../engine/api/client.ts';
import { createRequestMeter } from '../../engine/api/requests.ts';
import { readLedger } from '../../engine/control-tables/backfill-ledger.ts';
import { type MigrationStatus, readMigrationStatus } from '../../engine/database/migration-status.ts';
import { countSlices, isResumable } from '../../engine/reading/backfill.ts';
import { isWholeTime, toFilters } from '../../engine/reading/creation-time.ts';
import type { RunContext } from '../../engine/sync/run.ts';
import { SafetySyncError, usageError } from '../../shared/errors.ts';
import { formatCount, formatNumber } from '../../shared/format.ts';
import { streamNamed } from '../../engine/streams/index.ts';
import type { LedgerSlice, TimeSlice } from '../../engine/streams/state.ts';
import type { StreamName } from '../../engine/streams/stream.ts';
import { parseDate, parseStreams } from '../arguments.ts';
import {
  accountFields,
  EXIT,
  EXIT_CODE_OF,
  type Failure,
  renderFailures,
  streamLabel,
} from '../run-results.ts';
import { runVerb } from '../run-verb.ts';
import type { Colors } from '../terminal.ts';
import {
  type Output,
  type CommonOptions,
  type CommandContext,
  JSON_OPTION,
  LIFT_PRIVACY_OPTION,
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

/**
 * The requests that a backfill of a stream would send. Reads one number from the service and the ledger, writes nothing. Without
 * all tables there is no ledger to look at.
 */
async function forecast(
  context: RunContext,
  stream: StreamName,
  { isMigrated, api, ...asked }: BackfillFlags & { readonly isMigrated: boolean; readonly api: ApiClient },
) {
  const { readMode, method, responseKey } = streamNamed(stream);
  if (readMode.kind !== 'incremental') {
    const { equipmentTypes } = context.settings;
    const requests =
      readMode.kind !== 'snapshot' ? null : readMode.per === 'account' ? 1 : equipmentTypes.length || null;
    return { stream, records: null, slices: 0, slices_done: null, requests };
  }
  const response = await api.page({
    method,
    listKey: responseKey,
    params: { limit: 1, ...toFilters(asked.range) },
    meter: createRequestMeter(),
    signal: context.signal,
  });
  const total = response.paging?.total ?? null;
  const resumed = isMigrated ? await readResumable(context, stream, asked) : undefined;
  const pagesOf = (records: number): number => Math.ceil(records / readMode.pageSize);
  const slices = resumed?.length ?? countSlices(pagesOf(total ?? 0), context.settings.sliceConcurrency);
  const open = resumed?.filter(({ status }) => status === 'pending').length ?? slices;
  const done = resumed?.reduce((sum, slice) => sum + slice.records, 0) ?? 0;
  const left = open === 0 ? 0 : total === null ? null : Math.max(0, total - done);
  // The total, or the newest and the oldest page, which show where to cut.
  const more = resumed !== undefined ? 1 : slices > 1 ? 2 : 0;
  const isOnePage = resumed === undefined && left !== null && left < readMode.pageSize;
  return {
    stream,
    /** null: the number is known only after the whole list was read. */
    records: left,
    /** 0: the stream is read as a whole. */
    slices,
    /** null: this would start from the beginning. */
    slices_done: resumed === undefined ? null : slices - open,
    // One request for every 500 records, and one for the partial page of every slice.
    requests: isOnePage ? 1 : left === null ? null : pagesOf(left) + open + more,
  };
}

type Forecast = Awaited<ReturnType<typeof forecast>> & { readonly account_id?: string };

/** The slices that the backfill would resume; undefined: it would start from the beginning. */
async function readResumable(
  { db, settings: { accountId } }: RunContext,
  stream: StreamName,
  { range, restart }: BackfillFlags,
): Promise<readonly LedgerSlice[] | undefined> {
  const { plan, slices } = await readLedger(db, { accountId, stream });
  return isResumable(plan, { range, restart }) ? slices : undefined;
}

function describeForecast(
  { account_id: accountId, records, requests, slices, slices_done: slicesDone, stream }: Forecast,
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
  { accounts, connection, config, log }: App,
  asked: BackfillFlags,
): Promise<Output> {
  const status = await readMigrationStatus(connection);
  const isMigrated = status.pending === 0;
  const plan: Forecast[] = [];
  const failed: (Failure & { readonly account_id: string; readonly stream: StreamName })[] = [];
  let code: number = EXIT.ok;
  for (const account of accounts) {
    const own = accountFields(accounts.length > 1, account.id);
    // Without tables there is no request budget to share, and no service that the account belongs to.
    const api = isMigrated ? account.api : buildApiClient(account.config, config.api, { log, store: null });
    try {
      for (const stream of asked.streams) {
        try {
          plan.push({
            ...own,
            ...(await forecast(account.runContext(), stream, { ...asked, isMigrated, api })),
          });
        } catch (error) {
          // The other accounts are planned, as they would be read.
          if (accounts.length === 1 || !(error instanceof SafetySyncError)) throw error;
          const { code: errorCode, message, advice, recovery } = error;
          failed.push({ account_id: account.id, stream, code: errorCode, message, advice });
          code = Math.max(code, EXIT_CODE_OF[recovery]);
          if (recovery === 'fail_run') break;
        }
      }
    } finally {
      if (!isMigrated) await api.close();
    }
  }
  return {
    json: { plan, ...(failed.length === 0 ? {} : { failed }), pending_migrations: status.pending },
    code,
    lines: () => [
      ...plan.map((one) => describeForecast(one, terminal.colors)),
      ...renderFailures(
        failed.map((one) => ({ ...one, stream: streamLabel(one.account_id, one.stream) })),
        terminal.colors,
      ),
      ...describePending(status),
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
        readPlan(context, app, { streams, range, restart }),
      );
    }
    return await runVerb(context, options, { kind: 'backfill', streams, range, restart });
  },
};
