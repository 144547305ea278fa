import { markDeadRuns } from '../../engine/control-tables/dead-runs.ts';
import { readRuns, type RunRow } from '../../engine/control-tables/runs.ts';
import { formatDuration, formatTime } from '../../shared/format.ts';
import { toMs } from '../../shared/time.ts';
import { parseStreams, parseWholeNumber } from '../arguments.ts';
import { statusText } from '../run-results.ts';
import { accountColumn, countColumn, renderRows } from '../table.ts';
import { withIsoTimes } from '../terminal.ts';
import { type CommonOptions, type CommandContext, JSON_OPTION, type Verb, runWithApp } from '../verb.ts';

interface RunsOptions extends CommonOptions {
  readonly limit: string;
  readonly stream?: string;
}

/** The first line of its error or note. */
function runRemark(run: RunRow): string {
  const error = run.error_code === null ? run.note : `${run.error_code}: ${run.error_message ?? ''}`;
  return (error ?? '').split('\n')[0] ?? '';
}

async function runRuns(context: CommandContext, options: RunsOptions): Promise<number> {
  const limit = parseWholeNumber(options.limit, '--limit', { min: 1, max: 100_000 });
  const stream = options.stream === undefined ? undefined : parseStreams([options.stream])[0];
  return await runWithApp(context, options, async ({ accountIds, db }) => {
    const { terminal } = context;
    const rows = await markDeadRuns(db, await readRuns(db, { accountIds, stream, limit }));
    const took = (run: RunRow) =>
      run.finished_at === null
        ? '…'
        : formatDuration(Math.max(0, toMs(run.finished_at) - toMs(run.started_at)));
    const changes = ['inserted', 'updated', 'deleted', 'rejected'] as const;
    const table = () =>
      renderRows(
        rows,
        [
          { title: 'run', align: 'right', cellOf: (run) => String(run.run_id) },
          { title: 'started', cellOf: (run) => formatTime(run.started_at) },
          accountColumn(accountIds.length > 1),
          { title: 'stream', cellOf: ({ stream: name }) => name },
          { title: 'kind', spare: 3, cellOf: ({ kind }) => kind },
          { title: 'trigger', spare: 8, cellOf: ({ trigger }) => trigger },
          { title: 'status', cellOf: ({ status }) => statusText(status, terminal.colors) },
          { title: 'time', align: 'right', spare: 2, cellOf: took },
          countColumn('requests', ({ requests }) => requests, 7),
          countColumn('read', (run) => run.records_read, 6),
          ...changes.map((title) => countColumn(title, (run: RunRow) => run[title], 4)),
          { title: 'remark', isCut: true, cellOf: runRemark },
        ],
        terminal,
      );
    return {
      json: { runs: rows.map(withIsoTimes) },
      lines: () => [rows.length === 0 ? 'No run yet. Start one with: safety-sync sync' : table()],
    };
  });
}

export const runs: Verb<RunsOptions> = {
  name: 'runs',
  about: 'show all runs, newest first',
  hasAccounts: true,
  options: [JSON_OPTION, ['--limit <n>', 'how many', '20'], ['--stream <stream>', 'only this stream']],
  run: runRuns,
};
