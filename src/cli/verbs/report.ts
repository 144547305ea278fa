import { resolve } from 'node:path';
import { readReport } from '../../pages/report/read-report.ts';
import { renderReport } from '../../pages/report/render-report.ts';
import { writeCsv, writeWorkbook } from '../../pages/report/take-along.ts';
import { usageError } from '../../shared/errors.ts';
import { formatNumber } from '../../shared/format.ts';
import { writeWholeFile } from '../../shared/write-whole-file.ts';
import { toIso } from '../../shared/time.ts';
import { EXIT } from '../run-results.ts';
import { type CommonOptions, ONE_ACCOUNT, onlyAccountOf, type Verb, withApp } from '../verb.ts';

const STDOUT = '-';
const DEFAULT_FILE = 'safety-report.html';

interface ReportFlags extends CommonOptions {
  readonly out?: string;
  readonly csv?: string;
  readonly xlsx?: string;
}

const runReport = withApp<ReportFlags>(async ({ app, terminal }, options) => {
  const { csv, xlsx, json } = options;
  const isTakenAlong = csv !== undefined || xlsx !== undefined;
  const out = options.out ?? (isTakenAlong ? undefined : DEFAULT_FILE);
  if (out !== undefined && xlsx !== undefined && resolve(out) === resolve(xlsx))
    throw usageError('--out and --xlsx name the same file');
  const progress = (line: string): void => terminal.note(terminal.noteColors.dim(line));
  const { id, config } = onlyAccountOf(app, 'a report');
  const written: string[] = [];
  const note = (counts: Readonly<Record<string, number>>, where: string): void => {
    const rows = Object.values(counts).reduce((sum, count) => sum + count, 0);
    const names = Object.keys(counts).length;
    written.push(`${formatNumber(names, 'list')} with ${formatNumber(rows, 'row')} are in ${where}.`);
  };
  const report = await readReport(app.connection, id, {
    equipmentTypes: config.equipmentTypes,
    recordUrls: app.config.recordUrls,
    also: async (snapshot) => {
      if (isTakenAlong) progress('writing the lists …');
      if (csv !== undefined) note(await writeCsv(snapshot, csv), `the CSV files of ${resolve(csv)}`);
      if (xlsx !== undefined) note(await writeWorkbook(snapshot, xlsx), `the workbook ${resolve(xlsx)}`);
    },
  });
  const isStdoutTaken = json === true || out === STDOUT;
  const say = (line: string): void => (isStdoutTaken ? terminal.note(line) : terminal.print(line));
  if (json) {
    const { accountId: account_id, timezone, asOfMs, answers } = report;
    terminal.print(JSON.stringify({ account_id, timezone, as_of: toIso(asOfMs), answers }));
  } else if (out !== undefined) {
    progress('drawing the report …');
    const page = renderReport(report, { title: config.reportTitle, along: { csv, xlsx } });
    if (out === STDOUT) terminal.printFile(page);
    else {
      await writeWholeFile(out, page);
      say(`The report is in ${resolve(out)}: open it in a browser.`);
    }
  }
  for (const line of written) say(line);
  return EXIT.ok;
});

export const report: Verb<ReportFlags> = {
  name: 'report',
  about:
    'write the report, one HTML file that needs no other: figures with those of a week ago, tasks of this week by person, charts and tables; or its lists with all their rows',
  hasAccounts: ONE_ACCOUNT,
  options: [
    [
      '--out <file>',
      `path of the page; - is stdout (default: \`${DEFAULT_FILE}\`; no page with --csv or --xlsx alone)`,
    ],
    ['--csv <dir>', 'writes each list of the page into this directory as a CSV file with all its rows'],
    ['--xlsx <file>', 'writes these lists as the sheets of one workbook'],
    ['--json', 'its figures as JSON on stdout instead of the page'],
  ],
  run: runReport,
};
