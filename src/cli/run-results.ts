/** Output and exit code of the results of runs. */
import type { RunStatus } from '../engine/control-tables/control-tables.ts';
import type { ErrorCode } from '../shared/errors.ts';
import { authFailureOf, type RunResult } from '../engine/sync/run.ts';
import type { Logger } from '../shared/logger.ts';
import type { RunKind } from '../engine/streams/state.ts';
import { formatCount, formatDuration } from '../shared/format.ts';
import { logResult, toJsonResult } from '../operate/worker/run-log.ts';
import { accountColumn, type ColumnOf, countColumn, renderRows } from './table.ts';
import { type Colors, type Terminal } from './terminal.ts';

/** Results of one account. */
export interface AccountResults {
  readonly accountId: string;
  readonly results: readonly RunResult[];
}

/** Elements of JSON name their account if there are several; for one account the field is absent. */
export function accountFields(isMany: boolean, accountId: string): { readonly account_id?: string } {
  return isMany ? { account_id: accountId } : {};
}

/** The name of an account's stream in a sentence. */
export function streamLabel(isMany: boolean, accountId: string, stream: string): string {
  return isMany ? `${accountId} ${stream}` : stream;
}

export const EXIT = { ok: 0, failed: 1, usage: 2, refused: 3 } as const;

/** For the help text and docs/cli.md. */
export const EXIT_CODES: readonly (readonly [codes: string, meaning: string])[] = [
  [
    String(EXIT.ok),
    'every requested stream succeeded or had no work; verify: equal or repaired; status, alerts: all is well',
  ],
  [
    String(EXIT.failed),
    'a stream failed, the others still ran; or the warehouse cannot be used; verify: different; access: a role sees more than granted; status, alerts: not all is well',
  ],
  [
    String(EXIT.usage),
    'bad usage or configuration, or a newer version has migrated the warehouse: nothing was tried',
  ],
  [String(EXIT.refused), 'the service refused the credentials'],
  ['130, 143', 'a second SIGINT or SIGTERM ended the process at once'],
];

export function exitCodeOf(results: readonly RunResult[]): number {
  if (results.some((result) => authFailureOf(result) !== undefined)) return EXIT.refused;
  if (results.some((one) => one.outcome === 'failed' && one.error.code === 'database_newer'))
    return EXIT.usage;
  return results.some((result) => result.outcome === 'failed') ? EXIT.failed : EXIT.ok;
}

/** Refused credentials of one account decide the exit code, as those of one stream do. */
export function exitCodeOfAccounts(all: readonly AccountResults[]): number {
  return exitCodeOf(all.flatMap(({ results }) => results));
}

export function toJsonResults(all: readonly AccountResults[]): Record<string, unknown>[] {
  return all.flatMap(({ accountId, results }) =>
    results.map((result) => ({ ...accountFields(all.length > 1, accountId), ...toJsonResult(result) })),
  );
}

/** Logs a line when a run ends. At a terminal the output contains the reason of a skip, so the log omits it. */
export function logRun(
  account: { readonly log: Logger },
  result: RunResult,
  { kind, isAtTerminal }: { readonly kind: RunKind; readonly isAtTerminal: boolean },
): void {
  logResult(account, result, { kind, isKnown: isAtTerminal && result.outcome === 'skipped' });
}

export function statusText(status: RunStatus, colors: Colors): string {
  switch (status) {
    case 'succeeded':
      return colors.green(status);
    case 'skipped':
      return colors.yellow(status);
    case 'failed':
      return colors.red(status);
    case 'running':
      return colors.cyan(status);
  }
}

interface StreamResult {
  readonly accountId: string;
  readonly result: RunResult;
}

const changeColumn = (title: keyof RunResult['counts'], spare?: number): ColumnOf<StreamResult> => ({
  title,
  align: 'right',
  spare,
  cellOf: ({ result }) => (result.outcome === 'skipped' ? '–' : formatCount(result.counts[title])),
});

export function renderResults(
  all: readonly AccountResults[],
  terminal: Pick<Terminal, 'colors' | 'width'>,
): string {
  return renderRows(
    all.flatMap(({ accountId, results }) => results.map((result) => ({ accountId, result }))),
    [
      accountColumn(all.length > 1, ({ accountId }) => accountId),
      { title: 'stream', cellOf: ({ result }) => result.stream },
      { title: 'outcome', cellOf: ({ result }) => statusText(result.outcome, terminal.colors) },
      changeColumn('read', 1),
      changeColumn('inserted'),
      changeColumn('updated'),
      changeColumn('unchanged', 3),
      changeColumn('deleted'),
      changeColumn('rejected', 4),
      countColumn('requests', ({ result }) => result.requests, 2),
      { title: 'time', align: 'right', cellOf: ({ result }) => formatDuration(result.durationMs) },
    ],
    terminal,
  );
}

/** A run that failed, now or according to its record. */
export interface Failure {
  /** With its account where there are several. */
  readonly stream: string;
  readonly code: ErrorCode;
  readonly message: string;
  readonly advice: string;
  readonly requestId?: string | null | undefined;
}

/** Each advice is printed once, above its streams. */
export function renderFailures(failures: readonly Failure[], colors: Colors): string[] {
  const heading = ({ code, advice }: Failure) => `${colors.red(code)}: ${advice}`;
  return [...new Set(failures.map(heading))].flatMap((text) => [
    text,
    ...failures
      .filter((failure) => heading(failure) === text)
      .map(({ stream, message, requestId }) => {
        const request = requestId == null ? '' : ` [request ${requestId}]`;
        return `  ${colors.bold(stream)}: ${message}${request}`;
      }),
  ]);
}

interface Labelled {
  readonly label: string;
  readonly result: RunResult;
}

function toFailure({ label, result }: Labelled): Failure[] {
  if (result.outcome !== 'failed') return [];
  const { code, message, advice, requestId } = result.error;
  return [{ stream: label, code, message, advice, requestId }];
}

/** Reasons, errors and their next steps, below the table. */
export function renderRemarks(all: readonly AccountResults[], colors: Colors): string[] {
  const labelled = all.flatMap(({ accountId, results }) =>
    results.map((result): Labelled => {
      return { label: streamLabel(all.length > 1, accountId, result.stream), result };
    }),
  );
  const notes = labelled.flatMap(({ label, result }) => {
    const name = colors.bold(label);
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
  return [...notes, ...renderFailures(labelled.flatMap(toFailure), colors)];
}

export function printResults(all: readonly AccountResults[], terminal: Terminal): void {
  terminal.print(renderResults(all, terminal));
  const remarks = renderRemarks(all, terminal.colors);
  if (remarks.length > 0) terminal.print(`\n${remarks.join('\n')}`);
}
