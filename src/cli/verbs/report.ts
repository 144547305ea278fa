import { dirname, join, relative, resolve } from 'node:path';
import { AREA_KINDS, parseArea } from '../../pages/report/area.ts';
import { readReport } from '../../pages/report/read-report.ts';
import { renderReport } from '../../pages/report/render-report.ts';
import { writeCsv, writeWorkbook } from '../../pages/report/take-along.ts';
import { usageError } from '../../shared/errors.ts';
import { writeWholeFile } from '../../shared/write-whole-file.ts';
import { onlyAccountOf, type Verb } from '../verb.ts';

const STDOUT = '-';
const DEFAULT_FILE = 'safety-report.html';

interface Flags {
  readonly area?: string;
  readonly out?: string;
  readonly csv?: string;
  readonly xlsx?: string;
}

export const report: Verb<Flags> = {
  about: 'write the report as one HTML file, or its lists with all their rows as a workbook or CSV files',
  options: [
    ['--area <kind=name>', `only an area or a group of areas; the kinds are ${AREA_KINDS.join(', ')}`],
    [
      '--out <file>',
      `path of the page; - is stdout (default: \`${DEFAULT_FILE}\`; no page with --csv or --xlsx alone)`,
    ],
    ['--csv <dir>', 'writes each list of the page into this directory as a CSV file with all its rows'],
    ['--xlsx <file>', 'writes these lists as the sheets of one workbook'],
  ],
  common: ['account'],
  async run({ app, terminal }, options) {
    const { csv, xlsx } = options;
    const isTakenAlong = csv !== undefined || xlsx !== undefined;
    const out = options.out ?? (isTakenAlong ? undefined : DEFAULT_FILE);
    if (out !== undefined && xlsx !== undefined && resolve(out) === resolve(xlsx))
      throw usageError('--out and --xlsx name the same file');
    const area = options.area === undefined ? null : parseArea(options.area);
    if (options.area !== undefined && area === null)
      throw usageError(
        `--area: expected KIND=NAME with one of ${AREA_KINDS.join(', ')}, for example field_office=Houston`,
      );
    const { id, config } = onlyAccountOf(app, 'a report');
    const report = await readReport(app.connection, id, {
      area,
      recordUrls: app.config.recordUrls,
      also: async (snapshot) => {
        if (csv !== undefined) await writeCsv(snapshot, csv);
        if (xlsx !== undefined) await writeWorkbook(snapshot, xlsx);
      },
    });
    const say = (line: string): void => terminal[out === STDOUT ? 'note' : 'print'](line);
    if (out !== undefined) {
      const folder = dirname(resolve(out === STDOUT ? '.' : out));
      const hrefOf = (path: string): string => encodeURI(relative(folder, resolve(path)));
      const areaFlag = options.area === undefined ? '' : ` --area '${options.area.replaceAll("'", `'\\''`)}'`;
      const along = {
        xlsx: xlsx && hrefOf(xlsx),
        csvOf: csv === undefined ? undefined : (list: string) => hrefOf(join(csv, `${list}.csv`)),
        command: isTakenAlong ? undefined : `safety-sync report${areaFlag} --xlsx FILE --csv DIR`,
      };
      const page = renderReport(report, { title: config.reportTitle, along });
      if (out === STDOUT) terminal.printFile(page);
      else {
        await writeWholeFile(out, page);
        say(`The report is in ${resolve(out)}: open it in a browser.`);
      }
    }
    if (csv !== undefined) say(`Every list with all its rows is in ${resolve(csv)}.`);
    if (xlsx !== undefined) say(`Every list with all its rows is in the workbook ${resolve(xlsx)}.`);
  },
};
