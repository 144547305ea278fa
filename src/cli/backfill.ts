import type { Command } from 'commander';
import type { App } from '../app.ts';
import { SafetySyncError } from '../shared/errors.ts';
import type { StreamName } from '../streams/stream.ts';
import { STREAM_NAMES, streamNamed } from '../streams/index.ts';
import type { BackfillRange } from '../reading/extract.ts';
import { syncStreams } from '../sync/sync-streams.ts';
import { type BackfillForecast, forecastBackfill } from '../backfill/forecast.ts';
import { readMigrationStatus } from '../database/migrate.ts';
import {
  accountFields,
  type AccountOption,
  type AccountResults,
  addAccountOption,
  streamLabel,
} from './accounts.ts';
import { type CommandContext, isAtTerminal, parseStreams, withApp } from './command-context.ts';
import { formatCount, formatNumber } from '../shared/format.ts';
import { createProgress } from './progress.ts';
import { EXIT, exitCodeOfAccounts, logRun, printResults, toJsonResults } from './run-results.ts';
import { buildRunEvents } from '../worker/run-report.ts';

interface BackfillOptions extends AccountOption {
  readonly from?: string;
  readonly to?: string;
  readonly restart?: true;
  readonly plan?: true;
  readonly json?: true;
}

/** `2026-03-01` (its beginning in UTC) or a full ISO time. */
export function parseDate(text: string, name: string): number {
  const isDay = /^\d{4}-\d{2}-\d{2}$/.test(text);
  const ms = Date.parse(isDay ? `${text}T00:00:00Z` : text);
  const isReal = !isDay || (!Number.isNaN(ms) && new Date(ms).toISOString().startsWith(text));
  if (!/^\d{4}-\d{2}-\d{2}/.test(text) || Number.isNaN(ms) || !isReal) {
    throw new SafetySyncError(
      'usage_invalid',
      `${name}: expected a day such as 2026-03-01 or an ISO time, got ${text}`,
    );
  }
  return ms;
}

function parseRange({ from, to }: BackfillOptions): BackfillRange {
  const fromMs = from === undefined ? null : parseDate(from, '--from');
  const toMs = to === undefined ? null : parseDate(to, '--to');
  if (fromMs !== null && toMs !== null && fromMs >= toMs) {
    throw new SafetySyncError('usage_invalid', '--from must be earlier than --to');
  }
  return { fromMs, toMs };
}

/** Only follow-ups can be asked for by time. */
function checkRange(streams: readonly StreamName[], range: BackfillRange): StreamName[] {
  if (range.fromMs === null && range.toMs === null) return [...streams];
  const sliced = streams.filter((stream) => streamNamed(stream).reading.kind === 'incremental');
  if (sliced.length === 0) {
    const message = `--from and --to: the service has no time filter for ${streams.join(', ')}; leave them out for a full re-read`;
    throw new SafetySyncError('usage_invalid', message);
  }
  return sliced;
}

interface AccountForecast {
  readonly accountId: string;
  readonly forecast: BackfillForecast;
}

function describeForecast(
  { records, requests, slices, slicesDone, stream }: BackfillForecast,
  label: (stream: StreamName) => string,
): string {
  const what = records === null ? 'an unknown number of records' : formatNumber(records, 'record');
  const cut = slices === 0 ? 'a full re-read' : formatNumber(slices, 'slice');
  const asked = requests === null ? '' : `, about ${formatNumber(requests, 'request')}`;
  const resumed =
    slicesDone === null
      ? ''
      : `; goes on where it was cut off (${formatCount(slicesDone)} of ${formatCount(slices)} slices are done)`;
  return `${label(stream)}: ${what}, ${cut}${asked}${resumed}`;
}

/** Asks the service and reads the ledger; the warehouse stays as it is, also one that has no tables yet. */
async function printPlan(
  { terminal }: CommandContext,
  app: App,
  { streams, range, options }: BackfillAsked,
): Promise<number> {
  const isMany = app.accounts.length > 1;
  const { known, pending } = await readMigrationStatus(app.warehouse.connection);
  const forecasts: AccountForecast[] = [];
  for (const account of app.accounts) {
    for (const stream of streams) {
      const request = { stream, range, restart: options.restart ?? false, isMigrated: pending === 0 };
      const forecast = await forecastBackfill(account.runContext(), request);
      forecasts.push({ accountId: account.id, forecast });
    }
  }
  if (options.json) {
    const plan = forecasts.map(({ accountId, forecast }) => ({
      ...accountFields(isMany, accountId),
      ...forecast,
    }));
    terminal.print(JSON.stringify({ plan, pending_migrations: pending }));
    return EXIT.ok;
  }
  for (const { accountId, forecast } of forecasts) {
    const label = (stream: StreamName) => terminal.colors.bold(streamLabel(isMany, accountId, stream));
    terminal.print(describeForecast(forecast, label));
  }
  if (pending > 0) {
    const lacks =
      pending === known
        ? 'The warehouse is not migrated: it has none of the tables'
        : `The warehouse is not migrated: ${pending} of ${formatNumber(known, 'migration')} are missing, so how far an earlier backfill came is not known here`;
    terminal.print(`${lacks}. The backfill migrates first.`);
  }
  terminal.print('Nothing was written to the warehouse. Leave out --plan to do it.');
  return EXIT.ok;
}

interface BackfillAsked {
  readonly streams: readonly StreamName[];
  readonly range: BackfillRange;
  readonly options: BackfillOptions;
}

export async function runBackfill(
  context: CommandContext,
  names: readonly string[],
  options: BackfillOptions,
): Promise<number> {
  const range = parseRange(options);
  const streams = checkRange(parseStreams(names), range);
  return await withApp(
    context,
    { needsService: true, migrates: options.plan ? 'by_itself' : true, accounts: options.account },
    async (app) => {
      if (options.plan) return await printPlan(context, app, { streams, range, options });
      const all: AccountResults[] = [];
      // One after the other: each reads as much side by side as its service allows, and has the progress bar to itself.
      for (const account of app.accounts) {
        const progress = createProgress(account.log, isAtTerminal(context, app));
        const events = { ...buildRunEvents(account), onProgress: progress.update.bind(progress) };
        try {
          const results = await syncStreams(account.runContext(events), {
            streams,
            kind: 'backfill',
            trigger: 'manual',
            force: true,
            allowMassDelete: false,
            range,
            restart: options.restart ?? false,
            onResult: (result) => {
              progress.stop();
              logRun(account, result, { kind: 'backfill', isAtTerminal: isAtTerminal(context, app) });
            },
          });
          all.push({ accountId: account.id, results });
        } finally {
          progress.stop();
        }
      }
      if (options.json) context.terminal.print(JSON.stringify({ runs: toJsonResults(all) }));
      else printResults(all, context.terminal);
      return exitCodeOfAccounts(all);
    },
  );
}

export function addBackfill(program: Command, context: CommandContext, exit: (code: number) => void): void {
  addAccountOption(program.command('backfill'))
    .description('read history again; follow-ups in slices of creation time, going on where it was cut off')
    .argument('[stream...]', STREAM_NAMES.join(', '))
    .option('--from <date>', 'follow-ups created on or after this day or time (UTC)')
    .option('--to <date>', 'follow-ups created before this day or time (UTC)')
    .option('--restart', 'begin anew instead of going on')
    .option('--plan', 'only say what it would ask for and how much there is; writes nothing')
    .option('--json', 'as JSON on stdout')
    .action(async (names: string[], options: BackfillOptions) =>
      exit(await runBackfill(context, names, options)),
    );
}
