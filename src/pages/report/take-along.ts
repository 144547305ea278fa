/** Writes the lists of the report with all their rows: as CSV files, or as one workbook. */
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { stringify } from 'csv-stringify/sync';
import { sql } from 'drizzle-orm';
import type { Queryable } from '../../engine/database/connection.ts';
import { SafetySyncError } from '../../shared/errors.ts';
import { recordUrlOf } from '../../shared/record-urls.ts';
import { toSpreadsheet } from '../../shared/spreadsheet.ts';
import { writeWholeFile } from '../../shared/write-whole-file.ts';
import { formatMoment } from '../words.ts';
import { type List, LIST_NAMES, type ListName, type ListRow, LISTS } from './lists.ts';
import { bind } from './questions/question.ts';
import type { Report } from './read-report.ts';
import { type Cell, renderWorkbook } from './workbook.ts';

/** Rows that are in memory at once. */
const BATCH_ROWS = 1000;

/** The lists of one account in the snapshot of its report. */
export interface Lists {
  readonly db: Pick<Queryable, 'execute'>;
  readonly report: Pick<Report, 'accountId' | 'asOfMs' | 'timezone' | 'recordUrls'>;
}

export const listsOf = (db: Lists['db'], report: Lists['report']): Lists => ({ db, report });

/** Number of rows, by list. */
type RowCounts = Readonly<Record<string, number>>;

async function* readListRows(
  { db, report }: Lists,
  { sql: statement, row }: List,
): AsyncGenerator<ListRow[]> {
  const { accountId } = report;
  // All rows are read, so the plan for the first ones is the wrong one.
  await db.execute(sql`set local cursor_tuple_fraction = 1`);
  await db.execute(sql`declare taken_along no scroll cursor for ${bind(statement, { accountId })}`);
  try {
    for (;;) {
      const rows = await db.execute(sql`fetch forward ${sql.raw(String(BATCH_ROWS))} from taken_along`);
      if (rows.length === 0) return;
      yield row === undefined ? [...rows] : rows.map((one) => row.parse(one));
    }
  } finally {
    // After an error the transaction is over, and the cursor with it.
    await db.execute(sql`close taken_along`).catch(() => undefined);
  }
}

/** A list with its columns and with its rows as cells; the last one is the link to the record where links are configured. */
function sheetOf(lists: Lists, name: ListName, counts: Record<string, number>) {
  const list: List = LISTS[name];
  const { recordUrls: urls } = lists.report;
  const recordOf = Object.values(urls).some((template) => template !== undefined) ? list.recordOf : null;
  const cellsOf = (row: ListRow): Cell[] => {
    const cells = list.columns.map((column) => (row[column] ?? null) as Cell);
    if (recordOf === null) return cells;
    const [kind, id] = recordOf(row);
    const url = recordUrlOf(urls, kind, typeof id === 'string' ? id : null);
    return [...cells, url === null ? null : new URL(url)];
  };
  async function* readCells(): AsyncGenerator<Cell[][]> {
    counts[name] = 0;
    for await (const rows of readListRows(lists, list)) {
      counts[name] += rows.length;
      yield rows.map(cellsOf);
    }
  }
  return { name, columns: recordOf === null ? list.columns : [...list.columns, 'link'], rows: readCells() };
}

function toCsvCell(cell: Cell): string {
  if (cell === null) return '';
  return typeof cell === 'string' ? toSpreadsheet(cell) : String(cell);
}

async function* toCsv(columns: readonly string[], batches: AsyncIterable<Cell[][]>): AsyncGenerator<string> {
  yield stringify([columns]);
  for await (const rows of batches) yield stringify(rows.map((row) => row.map(toCsvCell)));
}

/** One file per list; makes the directory. */
export async function writeCsv(lists: Lists, folder: string): Promise<RowCounts> {
  await mkdir(folder, { recursive: true, mode: 0o700 }).catch((cause: unknown) => {
    const { code } = cause as NodeJS.ErrnoException;
    const why =
      code === 'EEXIST' || code === 'ENOTDIR' ? 'it is no directory' : `it cannot be made (${code ?? ''})`;
    throw new SafetySyncError('usage_invalid', `cannot write into ${folder}: ${why}; name another one`, {
      cause,
    });
  });
  const counts: Record<string, number> = {};
  for (const name of LIST_NAMES) {
    const { columns, rows } = sheetOf(lists, name, counts);
    await writeWholeFile(join(folder, `${name}.csv`), toCsv(columns, rows));
  }
  return counts;
}

/** One sheet per list, after one that describes them. `counts` is complete at the end. */
export function toWorkbook(lists: Lists, counts: Record<string, number> = {}): AsyncGenerator<Uint8Array> {
  const { accountId, asOfMs, timezone } = lists.report;
  const about = [
    ['account', accountId],
    ['as of', `${formatMoment(asOfMs, timezone)} (${timezone})`],
    ...LIST_NAMES.map((name) => [name, LISTS[name].about]),
  ];
  return renderWorkbook([
    { name: 'about', columns: ['sheet', 'about'], rows: [about] },
    ...LIST_NAMES.map((name) => sheetOf(lists, name, counts)),
  ]);
}

export async function writeWorkbook(lists: Lists, path: string): Promise<RowCounts> {
  const counts: Record<string, number> = {};
  await writeWholeFile(path, toWorkbook(lists, counts));
  return counts;
}
