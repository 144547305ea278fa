/** How the results of runs are told, and what exit code they make. */
import { ERROR_KINDS } from '../shared/errors.ts';
import type { RunResult } from '../sync/run-stream.ts';
import { isRefused } from '../sync/sync-streams.ts';
import { formatCount, formatDuration } from './format.ts';
import { type Colors, renderTable, type Terminal } from './terminal.ts';

export const EXIT = { ok: 0, failed: 1, usage: 2, refused: 3 } as const;

export function exitCodeOf(results: readonly RunResult[]): number {
  if (results.some(isRefused)) return EXIT.refused;
  return results.some((result) => result.outcome === 'failed') ? EXIT.failed : EXIT.ok;
}

function outcomeText(result: RunResult, colors: Colors): string {
  switch (result.outcome) {
    case 'succeeded':
      return colors.green('succeeded');
    case 'skipped':
      return colors.yellow('skipped');
    case 'failed':
      return colors.red('failed');
  }
}

export function renderResults(results: readonly RunResult[], colors: Colors): string {
  const columns = ['read', 'inserted', 'updated', 'unchanged', 'deleted', 'rejected'] as const;
  return renderTable(
    [
      { title: 'stream' },
      { title: 'outcome' },
      ...columns.map((title) => ({ title, align: 'right' as const })),
      { title: 'requests', align: 'right' },
      { title: 'time', align: 'right' },
    ],
    results.map((result) => [
      result.stream,
      outcomeText(result, colors),
      ...columns.map((column) => (result.outcome === 'skipped' ? '–' : formatCount(result.counts[column]))),
      formatCount(result.requests),
      formatDuration(result.durationMs),
    ]),
    colors,
  );
}

/** Reasons, errors and what to do about them, below the table. */
export function renderRemarks(results: readonly RunResult[], colors: Colors): string[] {
  return results.flatMap((result) => {
    const name = colors.bold(result.stream);
    switch (result.outcome) {
      case 'succeeded': {
        const notes = result.note === null ? [] : [`${name}: ${result.note}`];
        const { rejected } = result.counts;
        return rejected === 0
          ? notes
          : [...notes, `${name}: ${formatCount(rejected)} rejected; see: safety-sync data-issues`];
      }
      case 'skipped':
        return [`${name}: ${result.reason}`];
      case 'failed': {
        const request = result.error.requestId === undefined ? '' : ` [request ${result.error.requestId}]`;
        return [
          `${colors.red(`${result.stream}: ${result.error.code}`)}: ${result.error.message}${request}`,
          `  ${ERROR_KINDS[result.error.code].advice}`,
        ];
      }
    }
  });
}

export function printResults(results: readonly RunResult[], terminal: Terminal): void {
  terminal.print(renderResults(results, terminal.colors));
  const remarks = renderRemarks(results, terminal.colors);
  if (remarks.length > 0) terminal.print(`\n${remarks.join('\n')}`);
}

/** One object a run, for `--json`. */
export function toJsonResult(result: RunResult): Record<string, unknown> {
  const { stream, outcome, requests, retries } = result;
  const { read, ...counts } = result.counts;
  return {
    stream,
    outcome,
    records_read: read,
    ...counts,
    requests,
    retries,
    duration_ms: Math.round(result.durationMs),
    ...(result.outcome === 'succeeded' ? { note: result.note } : {}),
    ...(result.outcome === 'skipped' ? { reason: result.reason } : {}),
    ...(result.outcome === 'failed'
      ? {
          error_code: result.error.code,
          error_message: result.error.message,
          advice: result.error.advice,
          request_id: result.error.requestId ?? null,
        }
      : {}),
  };
}
