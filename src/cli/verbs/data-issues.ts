import type { Account, App } from '../../app.ts';
import { type IssueRow, readIssues } from '../../engine/control-tables/issues.ts';
import { formatAge, formatNumber } from '../../shared/format.ts';
import { STREAM_NAMES } from '../../engine/streams/index.ts';
import type { IssueKind } from '../../engine/streams/stream.ts';
import { type AccountResult, exitCodeOf } from '../run-results.ts';
import { runAccounts } from '../run-verb.ts';
import { accountColumn, countColumn, renderRows } from '../table.ts';
import { withIsoTimes } from '../terminal.ts';
import {
  type CommonOptions,
  JSON_OPTION,
  LIFT_PRIVACY_OPTION,
  settlePrivacy,
  type Verb,
  withApp,
} from '../verb.ts';

interface IssuesOptions extends CommonOptions {
  readonly all?: true;
  readonly retry?: true;
}

/** Where the value or record is stored, for each kind of issue. */
export const MEANING: Readonly<Record<IssueKind, string>> = {
  record_rejected: 'not stored; the issue holds it',
  field_nulled: 'stored as null',
  unknown_field: 'kept in _raw only; of people not at all',
  unknown_value: 'kept as it came',
};

interface ListedIssueGroup extends IssueRow {
  records: number;
}

/** Groups issues that differ only in the record and in positions, because the output has one line for them. */
function groupIssues(issues: readonly IssueRow[]): ListedIssueGroup[] {
  const groups = new Map<string, ListedIssueGroup>();
  for (const issue of issues) {
    const field = (issue.field ?? '').replace(/\[\d+\]/g, '[]');
    const { account_id: accountId, stream, kind, resolved_at: resolvedAt } = issue;
    const id = JSON.stringify([accountId, stream, kind, field, resolvedAt === null]);
    const group = groups.get(id);
    if (group === undefined) groups.set(id, { ...issue, field, records: 1 });
    else group.records += 1;
  }
  return [...groups.values()];
}

const runDataIssues = withApp<IssuesOptions>(async ({ app, terminal }, options) => {
  const { colors } = terminal;
  const { accountIds, db } = app;
  if (options.retry) await settlePrivacy(app, options);
  const code = exitCodeOf(options.retry ? await retryAll(app) : []);
  const issues = await readIssues(db, { accountIds, includeResolved: options.all ?? false });
  const table = () =>
    renderRows(
      groupIssues(issues),
      [
        accountColumn(accountIds.length > 1),
        { title: 'stream', cellOf: ({ stream }) => stream },
        {
          title: 'what',
          cellOf: ({ kind, resolved_at: resolvedAt }) =>
            resolvedAt === null ? kind : `${kind}${colors.green(' (resolved)')}`,
        },
        { title: 'field', cellOf: ({ field }) => field || '–' },
        // An unknown field has one issue, however many records show it.
        countColumn('records', ({ kind, records }) => (kind === 'unknown_field' ? null : records)),
        { title: 'last seen', spare: 1, cellOf: (one) => formatAge(one.last_seen_at, app.clock.now()) },
        {
          title: 'example',
          cellOf: (one) => `${one.record_id ?? '(no key)'}: ${one.problem.slice(0, 80)}`,
        },
      ],
      terminal,
    );
  const none = options.all ? 'No data issues were ever seen.' : 'No open data issues.';
  const kinds = [...new Set(issues.map((issue) => issue.kind))];
  const open = issues.filter((issue) => issue.resolved_at === null).length;
  const explained = () => [
    table(),
    '',
    ...kinds.map((kind) => `${colors.bold(kind)}: ${MEANING[kind]}`),
    `\n${formatNumber(open, 'open issue')}. They close by themselves when the records are corrected.`,
  ];
  return {
    json: { data_issues: issues.map(withIsoTimes) },
    lines: () => (issues.length === 0 ? [none] : explained()),
    code,
  };
});

/** Processes the records of every stream with open issues again. */
async function retryAll(app: App): Promise<AccountResult[]> {
  const open = await readIssues(app.db, { accountIds: app.accountIds, includeResolved: false });
  const streamsOf = ({ id }: Account) => {
    const streams = new Set(open.flatMap((one) => (one.account_id === id ? [one.stream] : [])));
    return STREAM_NAMES.filter((name) => streams.has(name));
  };
  return await runAccounts(app, { kind: 'sync', retryIssues: true, streamsOf, isAtTerminal: false });
}

export const dataIssues: Verb<IssuesOptions> = {
  name: 'data-issues',
  about: 'show rejected records, nulled fields, unknown fields and values',
  hasAccounts: true,
  options: [
    JSON_OPTION,
    ['--all', 'also resolved ones'],
    ['--retry', 'process the stored records again first, without requests'],
    LIFT_PRIVACY_OPTION,
  ],
  run: runDataIssues,
};
