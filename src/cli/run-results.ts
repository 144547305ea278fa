/** Output and exit code of the results of runs. */
import type { SafetySyncError } from '../shared/errors.ts';
import type { Recovery } from '../shared/service-errors.ts';
import type { RunResult } from '../engine/sync/run.ts';
import { formatCount, formatDuration } from '../shared/format.ts';
import { toJsonResult } from '../operate/worker/run-log.ts';
import { accountColumn, renderRows } from './table.ts';
import { type Colors, type Terminal } from './terminal.ts';

/** The result of a run, with its account. */
export type AccountResult = RunResult & { readonly account_id: string };

export const EXIT = { ok: 0, failed: 1, usage: 2, refused: 3 } as const;

/** For the help text and docs/cli.md. */
export const EXIT_CODES: readonly (readonly [codes: string, meaning: string])[] = [
  ['0', 'every stream succeeded or had no work; verify: equal or repaired; status, alerts: well'],
  ['1', 'a stream failed, the others ran; verify: different; access, status, alerts: a problem'],
  ['2', 'bad usage or configuration, or a newer version has migrated the warehouse: nothing was tried'],
  ['3', 'the service refused the credentials'],
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
    ...all.map((one) => (one.outcome === 'failed' ? EXIT_CODE_OF[one.error.recovery] : EXIT.ok)),
  );

const STATUS_COLORS = { succeeded: 'green', skipped: 'yellow', failed: 'red', running: 'cyan' } as const;

export const statusText = (status: keyof typeof STATUS_COLORS, colors: Colors): string =>
  colors[STATUS_COLORS[status]](status);

const countOf =
  (name: keyof RunResult['counts']) =>
  ({ outcome, counts }: AccountResult): number | null =>
    outcome === 'skipped' ? null : counts[name];

export function renderResults(
  all: readonly AccountResult[],
  terminal: Pick<Terminal, 'colors' | 'width'>,
): string {
  return renderRows(terminal, all, {
    ...accountColumn(all),
    stream: ({ stream }) => stream,
    outcome: ({ outcome }) => statusText(outcome, terminal.colors),
    read: countOf('read'),
    inserted: countOf('inserted'),
    updated: countOf('updated'),
    deleted: countOf('deleted'),
    time: ({ durationMs }) => formatDuration(durationMs),
    unchanged: countOf('unchanged'),
    rejected: countOf('rejected'),
    requests: ({ requests }) => requests,
  });
}

export const errorText = ({ message, requestId }: SafetySyncError): string =>
  requestId === undefined ? message : `${message} [request ${requestId}]`;

/** Reasons, errors and their next steps, below the table. An advice is printed once. */
export function renderRemarks(all: readonly AccountResult[], colors: Colors): string[] {
  const isMany = new Set(all.map((one) => one.account_id)).size > 1;
  const line = ({ account_id: account, stream }: AccountResult, text: string): string =>
    `${colors.bold(isMany ? `${account} ${stream}` : stream)}: ${text}`;
  const notes = all.flatMap((one) => {
    const { rejected } = one.counts;
    return [
      ...(one.outcome === 'succeeded' && one.note !== null ? [line(one, one.note)] : []),
      ...(one.outcome === 'skipped' ? [line(one, one.reason)] : []),
      ...(rejected > 0 ? [line(one, `${formatCount(rejected)} rejected; see: safety-sync data-issues`)] : []),
    ];
  });
  const failures = all.filter((one) => one.outcome === 'failed');
  return [
    ...notes,
    ...failures.map((one) => line(one, errorText(one.error))),
    ...new Set(failures.map(({ error: { code, advice } }) => `${colors.red(code)}: ${advice}`)),
  ];
}

/** Lines of an answer, after an empty line. */
export const afterBlank = (lines: readonly string[]): readonly string[] =>
  lines.length === 0 ? [] : ['', ...lines];

/** The table, the remarks below it, and `more` below them. */
export function outputOf(all: readonly AccountResult[], terminal: Terminal, more: readonly string[] = []) {
  return {
    json: { runs: all.map((one) => ({ account_id: one.account_id, ...toJsonResult(one) })) },
    lines: [
      renderResults(all, terminal),
      ...afterBlank(renderRemarks(all, terminal.colors)),
      ...afterBlank(more),
    ],
    code: exitCodeOf(all),
  };
}
