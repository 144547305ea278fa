import { resolve } from 'node:path';
import { readReport } from '../pages/report/read-report.ts';
import { renderReport } from '../pages/report/render-report.ts';
import { writeWholeFile } from '../pages/report/write-file.ts';
import type { App } from '../app.ts';
import { SafetySyncError } from '../shared/errors.ts';
import { EXIT } from './run-results.ts';
import { type AccountOption, type CommandContext, type Verb, withApp } from './verb.ts';

const STDOUT = '-';
const DEFAULT_FILE = 'safety-report.html';

interface ReportOptions extends AccountOption {
  readonly out: string;
  readonly json?: true;
}

const NAMED_ACCOUNTS = 10;

/** A page is about one account: of several, one has to be chosen. */
function accountOf({ accounts }: App): string {
  const [account] = accounts;
  if (account !== undefined && accounts.length === 1) return account.id;
  const names = accounts.slice(0, NAMED_ACCOUNTS).map(({ id }) => id);
  const others = accounts.length > names.length ? ', …' : '';
  throw new SafetySyncError(
    'usage_invalid',
    `a report is of one account, there are ${accounts.length}: choose one with --account (${names.join(', ')}${others})`,
    {
      advice: `For example: safety-sync report --account ${names[0] ?? 'NAME'} --out ${names[0] ?? 'NAME'}.html`,
    },
  );
}

async function runReport(context: CommandContext, options: ReportOptions): Promise<number> {
  const { terminal } = context;
  const { out, json } = options;
  const answered = await withApp(
    context,
    options,
    async (app) => await readReport(app.warehouse.connection, accountOf(app)),
  );
  if (json) {
    const { accountId: account_id, timezone, asOfMs, answers } = answered;
    terminal.print(JSON.stringify({ account_id, timezone, as_of: new Date(asOfMs).toISOString(), answers }));
    return EXIT.ok;
  }
  terminal.note(terminal.noteColors.dim('drawing the report …'));
  const page = await renderReport(answered);
  if (out === STDOUT) {
    terminal.print(page);
    return EXIT.ok;
  }
  await writeWholeFile(out, page);
  terminal.print(`The report is in ${resolve(out)}: open it in a browser.`);
  return EXIT.ok;
}

export const report: Verb<ReportOptions> = {
  name: 'report',
  about: 'writes a page of charts and tables for people without a BI tool: one HTML file',
  hasAccounts: true,
  options: [
    ['--out <file>', 'where to write it; - is stdout', DEFAULT_FILE],
    ['--json', 'the answers behind it as JSON on stdout; writes no file'],
  ],
  run: runReport,
};
