import { markDeadRuns } from '../../engine/control-tables/dead-runs.ts';
import { readRuns, type RunRow } from '../../engine/control-tables/runs.ts';
import { formatCount, formatDuration, formatTime } from '../../shared/format.ts';
import { toMs } from '../../shared/time.ts';
import { parseStreams, parseWholeNumber } from '../arguments.ts';
import { EXIT, statusText } from '../run-results.ts';
import { accountColumn, renderTable, withIsoTimes } from '../terminal.ts';
import { type CommonOptions, type CommandContext, JSON_OPTION, type Verb, withApp } from '../verb.ts';

interface RunsOptions extends CommonOptions {
  readonly limit: string;
  readonly stream?: string;
}

/** Characters of a remark that fit into a line of a terminal; piped output is not cut. */
const MOST_REMARK = 70;

function remark(run: RunRow, isCut: boolean): string {
  const error = run.error_code === null ? run.note : `${run.error_code}: ${run.error_message ?? ''}`;
  const line = (error ?? '').split('\n')[0] ?? '';
  return isCut && line.length > MOST_REMARK ? `${line.slice(0, MOST_REMARK - 1)}…` : line;
}

async function runRuns(context: CommandContext, options: RunsOptions): Promise<number> {
  const limit = parseWholeNumber(options.limit, '--limit', { min: 1, max: 100_000 });
  const stream = options.stream === undefined ? undefined : parseStreams([options.stream])[0];
  return await withApp(context, options, async ({ accounts, warehouse }) => {
    const accountIds = accounts.map(({ id }) => id);
    const isMany = accountIds.length > 1;
    const { db } = warehouse.connection;
    const rows = await markDeadRuns(db, await readRuns(db, { accountIds, stream, limit }));
    if (options.json) {
      context.terminal.print(JSON.stringify({ runs: rows.map(withIsoTimes) }));
      return EXIT.ok;
    }
    const { colors } = context.terminal;
    if (rows.length === 0) {
      context.terminal.print('No run yet. Start one with: safety-sync sync');
      return EXIT.ok;
    }
    const right = (title: string) => ({ title, align: 'right' as const });
    const took = (run: RunRow) =>
      run.finished_at === null ? '…' : formatDuration(toMs(run.finished_at) - toMs(run.started_at));
    context.terminal.print(
      renderTable(
        [
          right('run'),
          { title: 'started' },
          accountColumn(isMany),
          { title: 'stream' },
          { title: 'kind', spare: 3 },
          { title: 'trigger', spare: 8 },
          { title: 'status' },
          { ...right('time'), spare: 2 },
          { ...right('requests'), spare: 7 },
          { ...right('read'), spare: 6 },
          ...['inserted', 'updated', 'deleted', 'rejected'].map((title) => ({ ...right(title), spare: 4 })),
          { title: 'remark', isCut: true },
        ],
        rows.map((run) => [
          String(run.run_id),
          formatTime(run.started_at),
          run.account_id,
          run.stream,
          run.kind,
          run.trigger,
          statusText(run.status, colors),
          took(run),
          ...[run.requests, run.records_read, run.inserted, run.updated, run.deleted, run.rejected].map(
            formatCount,
          ),
          remark(run, context.terminal.width !== undefined),
        ]),
        context.terminal,
      ),
    );
    return EXIT.ok;
  });
}

export const runs: Verb<RunsOptions> = {
  name: 'runs',
  about: 'show all runs, newest first',
  hasAccounts: true,
  options: [JSON_OPTION, ['--limit <n>', 'how many', '20'], ['--stream <stream>', 'only this stream']],
  run: runRuns,
};
