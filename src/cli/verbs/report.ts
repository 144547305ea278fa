import { resolve } from 'node:path';
import { readReport } from '../../pages/report/read-report.ts';
import { renderReport } from '../../pages/report/render-report.ts';
import { writeWholeFile } from '../../shared/write-whole-file.ts';
import { toIso } from '../../shared/time.ts';
import { EXIT } from '../run-results.ts';
import {
  type CommonOptions,
  type CommandContext,
  ONE_ACCOUNT,
  onlyAccountOf,
  type Verb,
  withApp,
} from '../verb.ts';

const STDOUT = '-';
const DEFAULT_FILE = 'safety-report.html';

interface ReportOptions extends CommonOptions {
  readonly out: string;
}

async function runReport(context: CommandContext, options: ReportOptions): Promise<number> {
  const { terminal } = context;
  const { out, json } = options;
  const example = (name: string) => `report --account ${name} --out ${name}.html`;
  const { answered, title } = await withApp(context, options, async (app) => {
    const { id, config } = onlyAccountOf(app, { what: 'a report', example });
    return {
      answered: await readReport(app.warehouse.connection, id, config.equipmentTypes),
      title: config.reportTitle,
    };
  });
  if (json) {
    const { accountId: account_id, timezone, asOfMs, answers } = answered;
    terminal.print(JSON.stringify({ account_id, timezone, as_of: toIso(asOfMs), answers }));
    return EXIT.ok;
  }
  terminal.note(terminal.noteColors.dim('drawing the report …'));
  const page = renderReport(answered, { title });
  if (out === STDOUT) {
    terminal.printFile(page);
    return EXIT.ok;
  }
  await writeWholeFile(out, page);
  terminal.print(`The report is in ${resolve(out)}: open it in a browser.`);
  return EXIT.ok;
}

export const report: Verb<ReportOptions> = {
  name: 'report',
  about:
    'write the report, one HTML file that needs no other: figures with those of a week ago, tasks of this week by person, charts and tables',
  hasAccounts: ONE_ACCOUNT,
  options: [
    ['--out <file>', 'path of the file; - is stdout', DEFAULT_FILE],
    ['--json', 'its figures as JSON on stdout instead of a file'],
  ],
  run: runReport,
};
