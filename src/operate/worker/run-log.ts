/** Formats the results of runs: as JSON, and as one log line each. */
import { formatCount, formatDuration, formatNumber } from '../../shared/format.ts';
import type { Logger } from '../../shared/logger.ts';
import type { RunKind } from '../../engine/streams/state.ts';
import type { StreamName } from '../../engine/streams/stream.ts';
import type { RunEvents, RunResult } from '../../engine/sync/run.ts';

/** One JSON object per run, for `--json`. */
export function toJsonResult(result: RunResult): Record<string, unknown> {
  const { stream, outcome, requests, retries } = result;
  const { read, ...counts } = result.counts;
  return {
    run_id: result.runId,
    stream,
    outcome,
    records_read: read,
    ...counts,
    requests,
    retries,
    duration_ms: Math.round(result.durationMs),
    ...(result.repaired !== null && { repaired: result.repaired }),
    ...(result.outcome === 'succeeded' && { note: result.note }),
    ...(result.outcome === 'skipped' && { reason: result.reason }),
    ...(result.outcome === 'failed' && {
      error_code: result.error.code,
      error_message: result.error.message,
      advice: result.error.advice,
      request_id: result.error.requestId ?? null,
    }),
  };
}

/** For example `2,000 read, 13 updated`; counts of 0 are left out. */
export function describeCounts(counts: Omit<RunResult['counts'], 'unchanged'>): string {
  const shown = (['read', 'inserted', 'updated', 'deleted', 'rejected'] as const).filter(
    (name) => name === 'read' || counts[name] > 0,
  );
  return shown.map((name) => `${formatCount(counts[name])} ${name}`).join(', ');
}

/** A run in a log line. */
export const runName = (stream: StreamName, kind: RunKind): string =>
  kind === 'sync' ? stream : `${stream} ${kind}`;

/** Logs one line per run with all fields. The message alone is complete, because a terminal shows no fields. */
export function logResult(
  { log }: { readonly log: Logger },
  result: RunResult,
  { kind, isKnown }: { readonly kind: RunKind; readonly isKnown: boolean },
): void {
  const fields = { kind, ...toJsonResult(result) };
  const name = runName(result.stream, kind);
  // Failures during an outage are logged at debug level, because its beginning was logged as an error.
  const levelOf = <Level extends string>(level: Level) => (isKnown ? 'debug' : level);
  if (result.outcome === 'succeeded')
    log.info(
      fields,
      `${name}: succeeded, ${describeCounts(result.counts)} in ${formatDuration(result.durationMs)}`,
    );
  // A stream that another worker runs is the normal case.
  else if (result.outcome === 'skipped')
    log[result.isTaken === true ? 'debug' : levelOf('info')](fields, `${name}: skipped, ${result.reason}`);
  else {
    const { code, message } = result.error;
    // An operator interrupted the run, so it needs no attention.
    log[levelOf(code === 'interrupted' ? 'warn' : 'error')](fields, `${name}: failed, ${code}: ${message}`);
  }
}

export function buildRunEvents({ log }: { readonly log: Logger }): RunEvents {
  return {
    onWait: (stream, holder) => {
      log.warn({ stream }, `${stream}: waiting for ${holder} to finish with this stream`);
    },
    onCleaned: (stream, rows) => {
      const text = `${stream}: ${formatNumber(rows, 'row')} rewritten to match the privacy settings`;
      log[rows > 0 ? 'info' : 'debug']({ stream, rows }, text);
    },
    onRemoved: (stream, removed, failure) => {
      if (failure === undefined)
        log.info({ stream, removed }, `${stream}: data older than its retention was removed`);
      else
        log.warn(
          { stream, error_code: failure.code },
          `${stream}: data older than its retention could not be removed (${failure.message}); the next run tries again`,
        );
    },
  };
}
