import type { Account } from '../../app.ts';
import { type IssueRow, readIssues } from '../../engine/control-tables/issues.ts';
import { stringifyExactJson } from '../../shared/exact-json.ts';
import { formatAge, formatNumber } from '../../shared/format.ts';
import { STREAM_NAMES } from '../../engine/streams/index.ts';
import type { IssueKind } from '../../engine/streams/stream.ts';
import { type AccountResults, exitCodeOfAccounts } from '../run-results.ts';
import { runAccounts } from '../run-verb.ts';
import { accountColumn, countColumn, renderRows } from '../table.ts';
import { withIsoTimes } from '../terminal.ts';
import { type CommonOptions, type CommandContext, JSON_OPTION, type Verb, withApp } from '../verb.ts';

interface IssuesOptions extends CommonOptions {
  readonly all?: true;
  readonly retry?: true;
}

/** The fate of the value or record. */
export const MEANING: Readonly<Record<IssueKind, string>> = {
  record_rejected: 'not stored; the issue holds it',
  field_nulled: 'stored as null',
  unknown_field: 'kept in _raw only',
  unknown_value: 'kept as it came',
};

interface Group {
  readonly sample: IssueRow;
  readonly records: IssueRow[];
}

/** Issues that differ only in the record and in positions are one line for a person. */
function groupIssues(issues: readonly IssueRow[]): Group[] {
  const groups = new Map<string, Group>();
  for (const issue of issues) {
    const field = (issue.field ?? '').replace(/\[\d+\]/g, '[]');
    const id = JSON.stringify([
      issue.account_id,
      issue.stream,
      issue.kind,
      field,
      issue.resolved_at === null,
    ]);
    const group = groups.get(id);
    if (group === undefined) groups.set(id, { sample: { ...issue, field }, records: [issue] });
    else group.records.push(issue);
  }
  return [...groups.values()];
}

const countOf = ({ sample, records }: Group): number =>
  sample.kind === 'unknown_field' ? sample.occurrences : records.length;

/** Processes the records of every stream with open issues again. */
async function retryAll(context: CommandContext, options: IssuesOptions): Promise<AccountResults[]> {
  return await withApp(context, options, async (app) => {
    const open = await readIssues(app.warehouse.connection.db, {
      accountIds: app.accounts.map(({ id }) => id),
      includeResolved: false,
    });
    const streamsOf = ({ id }: Account) => {
      const streams = new Set(open.flatMap((one) => (one.account_id === id ? [one.stream] : [])));
      return STREAM_NAMES.filter((name) => streams.has(name));
    };
    return await runAccounts(app, { kind: 'sync', retryIssues: true, streamsOf, isAtTerminal: false });
  });
}

async function runDataIssues(context: CommandContext, options: IssuesOptions): Promise<number> {
  const code = exitCodeOfAccounts(options.retry ? await retryAll(context, options) : []);
  return await withApp(context, options, async ({ accounts, warehouse, clock }) => {
    const isMany = accounts.length > 1;
    const issues = await readIssues(warehouse.connection.db, {
      accountIds: accounts.map(({ id }) => id),
      includeResolved: options.all ?? false,
    });
    const { terminal } = context;
    if (options.json) {
      terminal.print(stringifyExactJson({ data_issues: issues.map(withIsoTimes) }));
      return code;
    }
    if (issues.length === 0) {
      terminal.print(options.all ? 'No data issues were ever seen.' : 'No open data issues.');
      return code;
    }
    const { colors } = terminal;
    terminal.print(
      renderRows(
        groupIssues(issues),
        [
          accountColumn(isMany, ({ sample }) => sample.account_id),
          { title: 'stream', cellOf: ({ sample }) => sample.stream },
          {
            title: 'what',
            cellOf: ({ sample: { kind, resolved_at: resolvedAt } }) =>
              resolvedAt === null ? kind : `${kind}${colors.green(' (resolved)')}`,
          },
          { title: 'field', cellOf: ({ sample }) => sample.field || '–' },
          countColumn('records', countOf),
          {
            title: 'last seen',
            spare: 1,
            cellOf: ({ sample }) => formatAge(sample.last_seen_at, clock.now()),
          },
          {
            title: 'example',
            cellOf: ({ sample }) => `${sample.record_id ?? '(no key)'}: ${sample.problem.slice(0, 80)}`,
          },
        ],
        terminal,
      ),
    );
    const kinds = new Set(issues.map((issue) => issue.kind));
    terminal.print('');
    for (const kind of kinds) terminal.print(`${colors.bold(kind)}: ${MEANING[kind]}`);
    const open = issues.filter((issue) => issue.resolved_at === null).length;
    terminal.print(
      `\n${formatNumber(open, 'open issue')}. They close by themselves when the records are corrected.`,
    );
    return code;
  });
}

export const dataIssues: Verb<IssuesOptions> = {
  name: 'data-issues',
  about: 'show rejected records, nulled fields, unknown fields and values',
  hasAccounts: true,
  options: [
    JSON_OPTION,
    ['--all', 'also resolved ones'],
    ['--retry', 'process the stored records again first, without requests'],
  ],
  run: runDataIssues,
};
