import { dirname, resolve } from 'node:path';
import { type Area, AREA_KINDS, areaText, parseArea } from '../../pages/report/area.ts';
import { makeReport } from '../../pages/report/make-report.ts';
import { usageError } from '../../shared/errors.ts';
import { writeWholeFile } from '../../shared/write-whole-file.ts';
import { onlyAccountOf, type Verb } from '../verb.ts';

const STDOUT = '-';
const DEFAULT_FILE = 'safety-report.html';

type Flags = { readonly area?: Area } & Readonly<Partial<Record<'out' | 'csv' | 'xlsx', string>>>;

export const report: Verb<Flags> = {
  about: 'write the report as one HTML file, or its lists with all their rows as a workbook or CSV files',
  options: [
    ['--area <kind=name>', `only an area or a group of them: ${AREA_KINDS.join(', ')}`, undefined, parseArea],
    ['--out <file>', `the page; - is stdout (default: \`${DEFAULT_FILE}\`; none with --csv or --xlsx alone)`],
    ['--csv <dir>', 'writes each list of the page into this directory as a CSV file with all its rows'],
    ['--xlsx <file>', 'writes these lists as the sheets of one workbook'],
  ],
  common: ['account'],
  async run({ app, terminal }, options) {
    const { area, csv, xlsx } = options;
    const out = options.out ?? (csv === undefined && xlsx === undefined ? DEFAULT_FILE : undefined);
    if (out !== undefined && xlsx !== undefined && resolve(out) === resolve(xlsx))
      throw usageError('--out and --xlsx name the same file');
    const { id, config } = onlyAccountOf(app, 'a report');
    const ofArea = area && ` --area '${areaText(area).replaceAll("'", `'\\''`)}'`;
    const { page } = await makeReport(app.connection, {
      ...{ accountId: id, csv, xlsx, area, recordUrls: app.config.recordUrls, title: config.reportTitle },
      folder: out === undefined || out === STDOUT ? '.' : dirname(out),
      command: `safety-sync report${ofArea ?? ''} --xlsx FILE --csv DIR`,
    });
    const say = (line: string): void => terminal[out === STDOUT ? 'note' : 'print'](line);
    if (out === STDOUT) terminal.printFile(page);
    else if (out !== undefined) {
      await writeWholeFile(out, page);
      say(`The report is in ${resolve(out)}: open it in a browser.`);
    }
    if (csv !== undefined) say(`Every list with all its rows is in ${resolve(csv)}.`);
    if (xlsx !== undefined) say(`Every list with all its rows is in the workbook ${resolve(xlsx)}.`);
  },
};
