/** The report with files beside its page: its lists with all their rows, which the page links to. */
import { join, relative, resolve } from 'node:path';
import type { Connection } from '../../engine/database/connection.ts';
import { writeWholeFile } from '../../shared/write-whole-file.ts';
import { readReport, type ReportOptions } from './read-report.ts';
import { renderReport } from './render-report.ts';
import { toWorkbook, writeCsv } from './take-along.ts';

interface ReportRequest extends ReportOptions {
  readonly title: string | null;
  /** The directory of the page, from which its links lead. */
  readonly folder: string;
  /** A directory for the lists as CSV files. */
  readonly csv?: string | undefined;
  /** The path of a workbook with them. */
  readonly xlsx?: string | undefined;
  /** The command that writes them, which the page names where there are none. */
  readonly command?: string;
}

/** Writes the files, and returns the page. Errors: as `readReport`, and those of files. */
export const makeReport = (
  connection: Connection,
  { title, folder, csv, xlsx, command, ...request }: ReportRequest,
) =>
  readReport(connection, request, async (snapshot) => {
    const { report } = snapshot;
    if (csv !== undefined) await writeCsv(snapshot, csv);
    if (xlsx !== undefined) await writeWholeFile(xlsx, toWorkbook(snapshot));
    const hrefOf = (path: string): string => encodeURI(relative(resolve(folder), resolve(path)));
    const along = {
      xlsx: xlsx && hrefOf(xlsx),
      csvOf: csv === undefined ? undefined : (list: string) => hrefOf(join(csv, `${list}.csv`)),
      command: csv === undefined && xlsx === undefined ? command : undefined,
    };
    return { report, page: renderReport(report, { title, along }) };
  });
