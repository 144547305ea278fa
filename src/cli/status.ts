import type { Command } from 'commander';
import { type Freshness, freshnessOf, lastSuccessOf } from '../status/freshness.ts';
import { type OffReason, offReasonsOf } from '../config/account-config.ts';
import { adviceOf, type ErrorCode } from '../shared/errors.ts';
import { readStatus, type StreamStatus } from '../status/read-status.ts';
import { type AccountOption, addAccountOption, streamLabel } from './accounts.ts';
import { type CommandContext, withApp } from './command-context.ts';
import { formatAge, formatCount, formatDuration, formatNumber, formatTime } from '../shared/format.ts';
import { withIsoTimes } from './json-times.ts';
import { EXIT, type Failure, renderFailures } from './run-results.ts';
import { type Colors, renderTable } from './terminal.ts';

interface StatusOptions extends AccountOption {
  readonly json?: true;
}

function freshnessText({ freshness, offReason }: Judged, colors: Colors): string {
  if (offReason === 'no equipment types') return colors.dim(`off: ${offReason}`);
  switch (freshness) {
    case 'fresh':
      return colors.green('fresh');
    case 'stale':
      return colors.red('stale');
    case 'never':
      return colors.dim('never synced');
  }
}

function lastRunText({ lastRun }: StreamStatus, nowMs: number, colors: Colors): string {
  if (lastRun === null) return colors.dim('–');
  const { status, kind, started_at: startedAt, finished_at: finishedAt } = lastRun;
  const color = { succeeded: colors.green, failed: colors.red, skipped: colors.yellow, running: colors.cyan }[
    status
  ];
  const what = `${color(status)} ${kind === 'sync' ? '' : `${kind} `}`;
  if (status === 'running') return `${what}for ${formatDuration(Math.max(0, nowMs - Date.parse(startedAt)))}`;
  // When it ended, as the last success is: the two are compared.
  return `${what}${formatAge(finishedAt ?? startedAt, nowMs)}`;
}

function toFailure(label: string, { stream: { lastRun }, entry }: Judged): Failure[] {
  if (lastRun?.status !== 'failed') return [];
  const { error_code: code, error_message: message, request_id: requestId } = lastRun;
  return [
    {
      stream: label,
      code: (code ?? 'internal_error') as ErrorCode,
      message: message ?? 'no message',
      advice: adviceOf(code ?? 'internal_error', entry),
      requestId,
    },
  ];
}

const toMs = (instant: string | null): number | null => (instant === null ? null : Date.parse(instant));

/** With more accounts than this, those with whom all is well are counted only. */
const MOST_LISTED = 20;

interface Judged {
  readonly accountId: string;
  readonly stream: StreamStatus;
  readonly freshness: Freshness;
  /** See `lastSuccessOf`. */
  readonly lastSuccessAt: string | null;
  /** Why it is not synced by itself; null: it is. */
  readonly offReason: OffReason | null;
  /** The account's name in the accounts file, if it has one there. */
  readonly entry: string | undefined;
}

const needsLook = ({ stream, freshness, offReason }: Judged): boolean =>
  (offReason === null && freshness !== 'fresh') || stream.lastRun?.status === 'failed';

function toJsonStream({ stream, freshness, lastSuccessAt, offReason }: Judged): Record<string, unknown> {
  return withIsoTimes({
    stream: stream.stream,
    freshness,
    is_scheduled: offReason === null,
    off_reason: offReason,
    last_success_at: lastSuccessAt,
    current_until: stream.currentUntil,
    watermark: stream.watermark,
    calculated_at: stream.calculatedAt,
    live_rows: stream.liveRows,
    deleted_rows: stream.deletedRows,
    open_data_issues: stream.openIssues,
    last_run: stream.lastRun === null ? null : withIsoTimes(stream.lastRun),
  });
}

/** Of many accounts those that somebody should look at, and how many the others are. */
function chooseListed(all: readonly (readonly Judged[])[]): { listed: readonly Judged[]; left: number } {
  if (all.length <= MOST_LISTED) return { listed: all.flat(), left: 0 };
  const listed = all.filter((streams) => streams.some(needsLook));
  return { listed: listed.flat().filter(needsLook), left: all.length - listed.length };
}

export async function runStatus(context: CommandContext, options: StatusOptions): Promise<number> {
  const frame = { needsService: false, migrates: false, accounts: options.account };
  return await withApp(context, frame, async ({ config, accounts, warehouse, clock }) => {
    const read = await readStatus(
      warehouse.connection.db,
      accounts.map(({ id }) => id),
    );
    const nowMs = clock.now();
    const isMany = accounts.length > 1;
    const judged = read.map(({ accountId, streams }, index) => {
      const own = accounts[index]?.config;
      const offReasons = own === undefined ? {} : offReasonsOf(own);
      const successes = new Map(streams.map((one) => [one.stream, toMs(one.lastSuccessAt)]));
      return streams.map((stream): Judged => {
        const known = {
          lastSuccessMs: lastSuccessOf(stream.stream, successes),
          currentUntilMs: toMs(stream.currentUntil),
        };
        return {
          accountId,
          stream,
          lastSuccessAt: known.lastSuccessMs === null ? null : new Date(known.lastSuccessMs).toISOString(),
          freshness: freshnessOf(known, nowMs, config.freshnessBudgetMinutes),
          offReason: offReasons[stream.stream] ?? null,
          entry: own?.service?.entry,
        };
      });
    });
    if (options.json) {
      const bodies = read.map(({ accountId }, index) => ({
        account_id: accountId,
        streams: (judged[index] ?? []).map(toJsonStream),
      }));
      context.terminal.print(JSON.stringify(isMany ? { accounts: bodies } : bodies[0]));
      return EXIT.ok;
    }
    const { terminal } = context;
    const { colors } = terminal;
    const { listed, left } = chooseListed(judged);
    if (listed.length > 0) {
      terminal.print(
        renderTable(
          [
            ...(isMany ? [{ title: 'account' }] : []),
            { title: 'stream' },
            { title: 'data' },
            { title: 'last success', spare: 3 },
            { title: 'last run' },
            { title: 'current to', spare: 1 },
            { title: 'live', align: 'right' },
            { title: 'deleted', align: 'right', spare: 2 },
            { title: 'open issues', align: 'right' },
          ],
          listed.map((one) => [
            ...(isMany ? [one.accountId] : []),
            one.stream.stream,
            freshnessText(one, colors),
            formatAge(one.lastSuccessAt, nowMs),
            lastRunText(one.stream, nowMs, colors),
            formatTime(one.stream.watermark ?? one.stream.calculatedAt),
            formatCount(one.stream.liveRows),
            formatCount(one.stream.deletedRows),
            formatCount(one.stream.openIssues),
          ]),
          terminal,
        ),
      );
    }
    if (left > 0) {
      const others = listed.length === 0 ? 'All' : 'The other';
      terminal.print(
        `${listed.length === 0 ? '' : '\n'}${others} ${formatNumber(left, 'account')} are fresh; --account NAME shows one, --json all.`,
      );
    }
    const failures = renderFailures(
      listed.flatMap((one) => toFailure(streamLabel(isMany, one.accountId, one.stream.stream), one)),
      colors,
    );
    if (failures.length > 0) terminal.print(`\n${failures.join('\n')}`);
    return EXIT.ok;
  });
}

export function addStatus(program: Command, context: CommandContext, exit: (code: number) => void): void {
  addAccountOption(program.command('status'))
    .description('per stream: last run, watermark, freshness, rows, open data issues')
    .option('--json', 'as JSON on stdout')
    .action(async (options: StatusOptions) => exit(await runStatus(context, options)));
}
