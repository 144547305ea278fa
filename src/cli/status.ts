import type { Command } from 'commander';
import { type Freshness, freshnessOf } from '../ops/freshness.ts';
import { readStatus, type StreamStatus } from '../warehouse/read-status.ts';
import { type CommandContext, withApp } from './command-context.ts';
import { formatAge, formatCount, formatTime } from './format.ts';
import { EXIT } from './run-results.ts';
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
      const { colors } = context.terminal;
      context.terminal.print(
        renderTable(
          [
            { title: 'stream' },
            { title: 'data' },
            { title: 'last success' },
            { title: 'last run' },
            { title: 'current to' },
            { title: 'live', align: 'right' },
            { title: 'deleted', align: 'right' },
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
          colors,
        ),
      );
      for (const { stream, lastRun } of streams) {
        if (lastRun?.status === 'failed') {
          context.terminal.print(
            `\n${colors.red(`${stream}: ${lastRun.error_code ?? ''}`)}: ${lastRun.error_message ?? ''}`,
          );
        }
      }
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
