/** How the results of runs are told, and what exit code they make. */
import { ERROR_KINDS, type ErrorCode } from '../shared/errors.ts';
import type { StreamName } from '../streams/stream.ts';
import type { RunResult } from '../sync/run.ts';
import { isRefused } from '../sync/sync-streams.ts';
import { formatCount, formatDuration } from '../shared/format.ts';
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

/** What a narrow terminal does without first. */
const SPARE = {
  read: 1,
  inserted: undefined,
  updated: undefined,
  unchanged: 3,
  deleted: undefined,
  rejected: 4,
};

export function renderResults(
  results: readonly RunResult[],
  terminal: Pick<Terminal, 'colors' | 'width'>,
): string {
  const columns = ['read', 'inserted', 'updated', 'unchanged', 'deleted', 'rejected'] as const;
  return renderTable(
    [
      { title: 'stream' },
      { title: 'outcome' },
      ...columns.map((title) => ({ title, align: 'right' as const, spare: SPARE[title] })),
      { title: 'requests', align: 'right', spare: 2 },
      { title: 'time', align: 'right' },
    ],
    results.map((result) => [
      result.stream,
      outcomeText(result, terminal.colors),
      ...columns.map((column) => (result.outcome === 'skipped' ? '–' : formatCount(result.counts[column]))),
      formatCount(result.requests),
      formatDuration(result.durationMs),
    ]),
    terminal,
  );
}

/** A run that failed, now or according to its record. */
export interface Failure {
  readonly stream: StreamName;
  readonly code: ErrorCode;
  readonly message: string;
  readonly requestId?: string | null | undefined;
}

/** What to do stands once, above the streams that it is about. */
export function renderFailures(failures: readonly Failure[], colors: Colors): string[] {
  const codes = [...new Set(failures.map(({ code }) => code))];
  return codes.flatMap((code) => [
    `${colors.red(code)}: ${ERROR_KINDS[code].advice}`,
    ...failures
      .filter((failure) => failure.code === code)
      .map(({ stream, message, requestId }) => {
        const request = requestId == null ? '' : ` [request ${requestId}]`;
        return `  ${colors.bold(stream)}: ${message}${request}`;
      }),
  ]);
}

function toFailure(result: RunResult): Failure[] {
  if (result.outcome !== 'failed') return [];
  const { code, message, requestId } = result.error;
  return [{ stream: result.stream, code, message, requestId }];
}

/** Reasons, errors and what to do about them, below the table. */
export function renderRemarks(results: readonly RunResult[], colors: Colors): string[] {
  const notes = results.flatMap((result) => {
    const name = colors.bold(result.stream);
    const { rejected } = result.counts;
    const rejections =
      rejected === 0 ? [] : [`${name}: ${formatCount(rejected)} rejected; see: safety-sync data-issues`];
    switch (result.outcome) {
      case 'succeeded':
        return result.note === null ? rejections : [`${name}: ${result.note}`, ...rejections];
      case 'skipped':
        return [`${name}: ${result.reason}`];
      case 'failed':
        return rejections;
    }
  });
  return [...notes, ...renderFailures(results.flatMap(toFailure), colors)];
}

export function printResults(results: readonly RunResult[], terminal: Terminal): void {
  terminal.print(renderResults(results, terminal));
  const remarks = renderRemarks(results, terminal.colors);
  if (remarks.length > 0) terminal.print(`\n${remarks.join('\n')}`);
}
