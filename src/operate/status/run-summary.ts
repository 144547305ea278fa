/** A run as the Status shows it. Pure. */
import { adviceOf } from '../../shared/errors.ts';
import { toMs } from '../../shared/time.ts';
import type { TokenPlace } from '../../shared/token-place.ts';
import type { RunRow } from '../../engine/control-tables/runs.ts';

export type RunSummary = ReturnType<typeof toRunSummary>;

/** `judgedMs`: the end of a run that is still running. */
export function toRunSummary(row: RunRow, judgedMs: number, tokenPlace: TokenPlace) {
  const startedMs = toMs(row.started_at);
  const endMs = toMs(row.finished_at) ?? (row.status === 'running' ? judgedMs : startedMs);
  const { error_code: code } = row;
  return {
    runId: row.run_id,
    stream: row.stream,
    kind: row.kind,
    trigger: row.trigger,
    status: row.status,
    startedMs,
    /** Up to now, for a running run. */
    durationMs: Math.max(0, endMs - startedMs),
    requests: row.requests,
    retries: row.retries,
    read: row.records_read,
    inserted: row.inserted,
    updated: row.updated,
    deleted: row.deleted,
    rejected: row.rejected,
    repaired: row.repaired,
    note: row.note,
    error:
      code === null ? null : { code, message: row.error_message ?? '', advice: adviceOf(code, tokenPlace) },
    requestId: row.request_id,
    owner: row.owner,
  };
}
