/** Output and exit code of the results of runs. */
import type { RunStatus } from '../engine/control-tables/control-tables.ts';
import type { ErrorCode } from '../shared/errors.ts';
import type { Recovery } from '../shared/service-errors.ts';
import type { RunResult } from '../engine/sync/run.ts';
import { formatCount, formatDuration } from '../shared/format.ts';
import { groupBy } from '../shared/group-by.ts';
import { toJsonResult } from '../operate/worker/run-log.ts';
import { accountColumn, type ColumnOf, countColumn, renderRows } from './table.ts';
import { type Colors, type Terminal } from './terminal.ts';

/** Elements of JSON name their account if there are several; for one account the field is absent. */
export function accountFields(isMany: boolean, accountId: string): { readonly account_id?: string } {
  return isMany ? { account_id: accountId } : {};
}

/** The result of a run, with its account if there are several. */
export interface AccountResult {
  readonly account_id?: string;
  readonly result: RunResult;
}

/** The name of an account's stream in a sentence. */
export const streamLabel = (accountId: string | undefined, stream: string): string =>
  accountId === undefined ? stream : `${accountId} ${stream}`;

export const EXIT = { ok: 0, failed: 1, usage: 2, refused: 3 } as const;

/** For the help text and docs/cli.md. */
export const EXIT_CODES: readonly (readonly [codes: string, meaning: string])[] = [
  [
    String(EXIT.ok),
    'every requested stream succeeded or had no work; verify: the record is equal or was repaired; status, alerts: no problem was found',
  ],
  [
    String(EXIT.failed),
    'a stream failed, the others still ran; or the warehouse cannot be used; verify: the record differs; access: a role sees more than granted; status, alerts: a problem was found',
  ],
  [
    String(EXIT.usage),
    'bad usage or configuration, or a newer version has migrated the warehouse: nothing was tried',
  ],
  [String(EXIT.refused), 'the service refused the credentials'],
  ['129, 130, 143', 'a second SIGHUP, SIGINT or SIGTERM ended the process at once'],
];

/** By the error's recovery. docs/errors.md is generated from it, too. */
export const EXIT_CODE_OF = {
  fix_usage: EXIT.usage,
  fail_run: EXIT.refused,
  retry: EXIT.failed,
  fail_stream: EXIT.failed,
  send_later: EXIT.failed,
} as const satisfies Record<Recovery, number>;

/** Refused credentials of one account decide the exit code, as those of one stream do: the highest one. */
export const exitCodeOf = (all: readonly AccountResult[]): number =>
  Math.max(
    EXIT.ok,
    ...all.map(({ result }) => (result.outcome === 'failed' ? EXIT_CODE_OF[result.error.recovery] : EXIT.ok)),
  );

const STATUS_COLORS = { succeeded: 'green', skipped: 'yellow', failed: 'red', running: 'cyan' } as const;

export const statusText = (status: RunStatus, colors: Colors): string =>
  colors[STATUS_COLORS[status]](status);

const changeColumn = (title: keyof RunResult['counts'], spare?: number): ColumnOf<AccountResult> =>
  countColumn(title, ({ result }) => (result.outcome === 'skipped' ? null : result.counts[title]), spare);

export function renderResults(
  all: readonly AccountResult[],
  terminal: Pick<Terminal, 'colors' | 'width'>,
): string {
  return renderRows(
    all,
    [
      accountColumn(all.some((one) => one.account_id !== undefined)),
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

/** A failed run: of this command, or of an earlier one by its row in `runs`. */
interface Failure {
  /** With its account where there are several. */
  readonly stream: string;
  readonly code: ErrorCode;
  readonly message: string;
  readonly advice: string;
  readonly requestId?: string | null | undefined;
}

/** Each advice is printed once, above its streams, and so is a message. */
export function renderFailures(failures: readonly Failure[], colors: Colors): string[] {
  const heading = ({ code, advice }: Failure): string => `${colors.red(code)}: ${advice}`;
  const text = ({ message, requestId }: Failure): string =>
    requestId == null ? message : `${message} [request ${requestId}]`;
  return groupBy(failures, heading).flatMap((same) => [
    heading(same[0]),
    ...groupBy(same, text).map(
      (equal) => `  ${equal.map(({ stream }) => colors.bold(stream)).join(', ')}: ${text(equal[0])}`,
    ),
  ]);
}

/** Reasons, errors and their next steps, below the table. */
export function renderRemarks(all: readonly AccountResult[], colors: Colors): string[] {
  const notes: string[] = [];
  const failures: Failure[] = [];
  for (const { account_id: accountId, result } of all) {
    const stream = streamLabel(accountId, result.stream);
    const note = (text: string) => notes.push(`${colors.bold(stream)}: ${text}`);
    if (result.outcome === 'succeeded' && result.note !== null) note(result.note);
    if (result.outcome === 'skipped') note(result.reason);
    if (result.outcome === 'failed') {
      const { code, message, advice, requestId } = result.error;
      failures.push({ stream, code, message, advice, requestId });
    }
    const { rejected } = result.counts;
    if (rejected > 0) note(`${formatCount(rejected)} rejected; see: safety-sync data-issues`);
  }
  return [...notes, ...renderFailures(failures, colors)];
}

/** Lines of an answer, after an empty line. */
export const afterBlank = (lines: readonly string[]): readonly string[] =>
  lines.length === 0 ? [] : ['', ...lines];

/** The table, the remarks below it, and `more` below them. */
export function outputOf(all: readonly AccountResult[], terminal: Terminal, more: readonly string[] = []) {
  return {
    json: { runs: all.map(({ result, ...account }) => ({ ...account, ...toJsonResult(result) })) },
    lines: () => [
      renderResults(all, terminal),
      ...afterBlank(renderRemarks(all, terminal.colors)),
      ...afterBlank(more),
    ],
    code: exitCodeOf(all),
  };
}
