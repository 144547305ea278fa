import type { Command } from 'commander';
import { type Freshness, freshnessOf } from '../ops/freshness.ts';
import type { ErrorCode } from '../shared/errors.ts';
import { readStatus, type StreamStatus } from '../warehouse/read-status.ts';
import { type CommandContext, withApp } from './command-context.ts';
import { formatAge, formatCount, formatTime } from '../shared/format.ts';
import { EXIT, type Failure, renderFailures } from './run-results.ts';
import { type Colors, renderTable } from './terminal.ts';

function freshnessText(freshness: Freshness, colors: Colors): string {
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
  const { status, kind } = lastRun;
  const color = { succeeded: colors.green, failed: colors.red, skipped: colors.yellow, running: colors.cyan }[
    status
  ];
  return `${color(status)} ${kind === 'sync' ? '' : `${kind} `}${formatAge(lastRun.started_at, nowMs)}`;
}

function toFailure({ stream, lastRun }: StreamStatus): Failure[] {
  if (lastRun?.status !== 'failed') return [];
  const { error_code: code, error_message: message, request_id: requestId } = lastRun;
  return [
    { stream, code: (code ?? 'internal_error') as ErrorCode, message: message ?? 'no message', requestId },
  ];
}

export async function runStatus(context: CommandContext, { json }: { json?: true }): Promise<number> {
  return await withApp(
    context,
    { needsService: false, migrates: false },
    async ({ config, warehouse, clock }) => {
      const streams = await readStatus(warehouse.connection.db, config.accountId);
      const nowMs = clock.now();
      const freshness = (one: StreamStatus) =>
        freshnessOf(one.lastSuccessAt, nowMs, config.freshnessBudgetMinutes);
      if (json) {
        context.terminal.print(
          JSON.stringify({
            account_id: config.accountId,
            streams: streams.map((one) => ({
              stream: one.stream,
              freshness: freshness(one),
              last_success_at: one.lastSuccessAt,
              watermark: one.watermark,
              calculated_at: one.calculatedAt,
              live_rows: one.liveRows,
              deleted_rows: one.deletedRows,
              open_data_issues: one.openIssues,
              last_run: one.lastRun,
            })),
          }),
        );
        return EXIT.ok;
      }
      const { terminal } = context;
      const { colors } = terminal;
      context.terminal.print(
        renderTable(
          [
            { title: 'stream' },
            { title: 'data' },
            { title: 'last success', spare: 3 },
            { title: 'last run' },
            { title: 'current to', spare: 1 },
            { title: 'live', align: 'right' },
            { title: 'deleted', align: 'right', spare: 2 },
            { title: 'open issues', align: 'right' },
          ],
          streams.map((one) => [
            one.stream,
            freshnessText(freshness(one), colors),
            formatAge(one.lastSuccessAt, nowMs),
            lastRunText(one, nowMs, colors),
            formatTime(one.watermark ?? one.calculatedAt),
            formatCount(one.liveRows),
            formatCount(one.deletedRows),
            formatCount(one.openIssues),
          ]),
          terminal,
        ),
      );
      const failures = renderFailures(streams.flatMap(toFailure), colors);
      if (failures.length > 0) terminal.print(`\n${failures.join('\n')}`);
      return EXIT.ok;
    },
  );
}

export function addStatus(program: Command, context: CommandContext, exit: (code: number) => void): void {
  program
    .command('status')
    .description('per stream: last run, watermark, freshness, rows, open data issues')
    .option('--json', 'as JSON on stdout')
    .action(async (options: { json?: true }) => exit(await runStatus(context, options)));
}
