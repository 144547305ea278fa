import { closeDeadRuns, readRuns, type RunRow } from '../../engine/control-tables/runs.ts';
import type { StreamName } from '../../engine/streams/stream.ts';
import { formatDuration, formatTime } from '../../shared/format.ts';
import { toMs } from '../../shared/time.ts';
import { parseStream, wholeNumber } from '../arguments.ts';
import { statusText } from '../run-results.ts';
import { accountColumn, renderRows } from '../table.ts';
import { withIsoTimes } from '../terminal.ts';
import type { Verb } from '../verb.ts';

type Flags = { readonly limit: number; readonly stream?: StreamName };

/** The first line of its error or note. */
function remarkOf(run: RunRow): string {
  const error = run.error_code === null ? run.note : `${run.error_code}: ${run.error_message ?? ''}`;
  return (error ?? '').split('\n')[0] ?? '';
}

const tookOf = (run: RunRow): string =>
  run.finished_at === null ? '…' : formatDuration(Math.max(0, toMs(run.finished_at) - toMs(run.started_at)));

export const runs: Verb<Flags> = {
  name: 'runs',
  about: 'show all runs, newest first',
  options: [
    ['--limit <n>', 'how many', 20, wholeNumber(1, 100_000)],
    ['--stream <stream>', 'only this stream', undefined, parseStream],
  ],
  common: ['accounts', 'json'],
  needs: () => ({ needsNoViews: true }),
  async run({ app, terminal }, { limit, stream }) {
    const { accountIds, db } = app;
    await closeDeadRuns(db, accountIds);
    const rows = await readRuns(db, accountIds, { stream, limit });
    const table = renderRows(terminal, rows, {
      run: (run) => String(run.run_id),
      started: (run) => formatTime(run.started_at),
      ...accountColumn(rows),
      stream: (run) => run.stream,
      'kind?': (run) => run.kind,
      'trigger?': (run) => run.trigger,
      status: (run) => statusText(run.status, terminal.colors),
      'time?': tookOf,
      'requests?': (run) => run.requests,
      'read?': (run) => run.records_read,
      'inserted?': (run) => run.inserted,
      'updated?': (run) => run.updated,
      'deleted?': (run) => run.deleted,
      'rejected?': (run) => run.rejected,
      remark: remarkOf,
    });
    return {
      json: { runs: rows.map(withIsoTimes) },
      lines: [rows.length === 0 ? 'No run yet. Start one with: safety-sync sync' : table],
    };
  },
};
