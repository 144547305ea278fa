import type { Command } from 'commander';
import { STREAM_NAMES } from '../streams/index.ts';
import type { IssueKind } from '../streams/stream.ts';
import type { RunResult } from '../sync/run.ts';
import { runStream } from '../sync/run-stream.ts';
import type { IssueRow } from '../database/issues.ts';
import { readIssues } from '../database/issues.ts';
import { type AccountOption, addAccountOption } from './accounts.ts';
import { type CommandContext, withApp } from './command-context.ts';
import { stringifyExactJson } from '../shared/exact-json.ts';
import { formatAge, formatCount, formatNumber } from '../shared/format.ts';
import { withIsoTimes } from './json-times.ts';
import { EXIT, exitCodeOf } from './run-results.ts';
import { buildRunEvents, logResult } from '../worker/run-report.ts';
import { renderTable } from './terminal.ts';

interface IssuesOptions extends AccountOption {
  readonly json?: true;
  readonly all?: true;
  readonly retry?: true;
}

const MEANING: Readonly<Record<IssueKind, string>> = {
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
export function groupIssues(issues: readonly IssueRow[]): Group[] {
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

/** Puts the records of every stream that has open issues through again. */
async function retryAll(context: CommandContext, { account: names }: IssuesOptions): Promise<RunResult[]> {
  const frame = { needsService: false, migrates: false, accounts: names };
  return await withApp(context, frame, async (app) => {
    const open = await readIssues(app.warehouse.connection.db, {
      accountIds: app.accounts.map(({ id }) => id),
      includeResolved: false,
    });
    const results: RunResult[] = [];
    for (const account of app.accounts) {
      const streams = new Set(open.flatMap((one) => (one.account_id === account.id ? [one.stream] : [])));
      for (const stream of STREAM_NAMES.filter((name) => streams.has(name))) {
        const result = await runStream(account.runContext(buildRunEvents(account)), {
          stream,
          kind: 'sync',
          trigger: 'manual',
          force: false,
          allowMassDelete: false,
          retryIssues: true,
        });
        logResult(account, result);
        results.push(result);
      }
    }
    return results;
  });
}

export async function runDataIssues(context: CommandContext, options: IssuesOptions): Promise<number> {
  const retried = options.retry ? await retryAll(context, options) : [];
  return await withApp(
    context,
    { needsService: false, migrates: false, accounts: options.account },
    async ({ accounts, warehouse, clock }) => {
      const isMany = accounts.length > 1;
      const issues = await readIssues(warehouse.connection.db, {
        accountIds: accounts.map(({ id }) => id),
        includeResolved: options.all ?? false,
      });
      const { terminal } = context;
      if (options.json) {
        terminal.print(stringifyExactJson({ data_issues: issues.map(withIsoTimes) }));
        return exitCodeOf(retried);
      }
      if (issues.length === 0) {
        terminal.print(options.all ? 'No data issues were ever seen.' : 'No open data issues.');
        return exitCodeOf(retried);
      }
      const { colors } = terminal;
      terminal.print(
        renderTable(
          [
            ...(isMany ? [{ title: 'account' }] : []),
            { title: 'stream' },
            { title: 'what' },
            { title: 'field' },
            { title: 'records', align: 'right' },
            { title: 'last seen', spare: 1 },
            { title: 'example' },
          ],
          groupIssues(issues).map(({ sample, records }) => [
            ...(isMany ? [sample.account_id] : []),
            sample.stream,
            `${sample.kind}${sample.resolved_at === null ? '' : colors.green(' (resolved)')}`,
            sample.field === '' ? '–' : (sample.field ?? '–'),
            formatCount(sample.kind === 'unknown_field' ? sample.occurrences : records.length),
            formatAge(sample.last_seen_at, clock.now()),
            `${sample.record_id ?? '(no key)'}: ${sample.problem.slice(0, 80)}`,
          ]),
          terminal,
        ),
      );
      const kinds = new Set(issues.map((issue) => issue.kind));
      terminal.print('');
      for (const kind of kinds) terminal.print(`${colors.bold(kind)}: ${MEANING[kind]}`);
      const open = issues.filter((issue) => issue.resolved_at === null).length;
      terminal.print(
        `\n${formatNumber(open, 'open issue')}. They close by themselves when the records come right.`,
      );
      return retried.length === 0 ? EXIT.ok : exitCodeOf(retried);
    },
  );
}

export function addDataIssues(program: Command, context: CommandContext, exit: (code: number) => void): void {
  addAccountOption(program.command('data-issues'))
    .description('rejected records, nulled fields, unknown fields and values')
    .option('--json', 'as JSON on stdout')
    .option('--all', 'also those that have come right')
    .option('--retry', 'put the stored records through again first')
    .action(async (options: IssuesOptions) => exit(await runDataIssues(context, options)));
}
