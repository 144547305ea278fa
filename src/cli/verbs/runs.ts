import { closeDeadRuns, readRuns, type RunRow } from '../../engine/control-tables/runs.ts';
import type { StreamName } from '../../engine/streams/stream.ts';
import { formatDuration, formatTime } from '../../shared/format.ts';
import { toMs } from '../../shared/time.ts';
import { withIsoTimes } from '../../operate/status/json-status.ts';
import { describeCounts, runName } from '../../operate/worker/run-log.ts';
import { parseStream, wholeNumber } from '../arguments.ts';
import { statusText } from '../run-results.ts';
import { accountColumn, renderRows } from '../table.ts';
import type { Verb } from '../verb.ts';

type Flags = { readonly limit: number; readonly stream?: StreamName };

/** The first line of its error, why it was skipped, or its counts, duration and note. */
function outcomeOf(run: RunRow): string {
  const { error_code: code, error_message: message, started_at: began, finished_at: ended } = run;
  if (code !== null) return `${code}: ${message?.split('\n')[0] ?? ''}`;
  if (run.status === 'skipped') return run.note ?? '';
  const took = ended === null ? '' : ` in ${formatDuration(Math.max(0, toMs(ended) - toMs(began)))}`;
  const note = run.note === null ? '' : `; ${run.note}`;
  return `${describeCounts({ ...run, read: run.records_read })}${took}${note}`;
}

export const runs: Verb<Flags> = {
  about: 'show all runs, newest first',
  options: [
    ['--limit <n>', 'how many', 20, wholeNumber(1, 100_000)],
    ['--stream <stream>', 'only this stream', undefined, parseStream],
  ],
  common: ['accounts', 'json'],
  async run({ app, terminal }, { limit, stream }) {
    const { accountIds, db } = app;
    await closeDeadRuns(db, accountIds);
    const rows = await readRuns(db, accountIds, { stream, limit });
    const table = renderRows(terminal, rows, {
      run: (run) => String(run.run_id),
      started: (run) => formatTime(run.started_at),
      ...accountColumn(rows),
      stream: (run) => runName(run.stream, run.kind),
      status: (run) => statusText(run.status, terminal.colors),
      outcome: outcomeOf,
    });
    return {
      json: { runs: rows.map(withIsoTimes) },
      lines: [rows.length === 0 ? 'No run yet. Start one with: safety-sync sync' : table],
    };
  },
};
