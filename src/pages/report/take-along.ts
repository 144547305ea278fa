/** Writes the lists of the report with all their rows: as CSV files, or as one workbook. */
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { stringify } from 'csv-stringify/sync';
import { sql } from 'drizzle-orm';
import type { Queryable } from '../../engine/database/connection.ts';
import { SafetySyncError } from '../../shared/errors.ts';
import { recordUrlOf, type RecordUrls } from '../../shared/record-urls.ts';
import { toSpreadsheet } from '../../shared/spreadsheet.ts';
import { writeWholeFile } from '../../shared/write-whole-file.ts';
import { formatMoment } from '../words.ts';
import { type List, LIST_NAMES, type ListName, type ListRow, LISTS } from './lists.ts';
import { bind } from './questions/question.ts';
import type { Report } from './read-report.ts';
import { type Cell, renderWorkbook } from './workbook.ts';

/** Rows that are in memory at once. */
const BATCH = 1000;

/** The lists of one account in the snapshot of its report. */
export interface Lists {
  readonly db: Pick<Queryable, 'execute'>;
  readonly accountId: string;
  readonly urls: RecordUrls;
  /** For example `1 Mar 2026, 14:30 (Europe/Oslo)`. */
  readonly asOf: string;
}

export function listsOf(
  db: Lists['db'],
  {
    accountId,
    asOfMs,
    timezone,
    recordUrls,
  }: Pick<Report, 'accountId' | 'asOfMs' | 'timezone' | 'recordUrls'>,
): Lists {
  return { db, accountId, urls: recordUrls, asOf: `${formatMoment(asOfMs, timezone)} (${timezone})` };
}

/** Number of rows, by list. */
type Counts = Readonly<Record<string, number>>;

async function* readRows({ db, accountId }: Lists, { sql: statement, row }: List): AsyncGenerator<ListRow[]> {
  // All rows are read, so the plan for the first ones is the wrong one.
  await db.execute(sql`set local cursor_tuple_fraction = 1`);
  await db.execute(sql`declare taken_along no scroll cursor for ${bind(statement, { accountId })}`);
  try {
    for (;;) {
      const rows = await db.execute(sql`fetch forward ${sql.raw(String(BATCH))} from taken_along`);
      if (rows.length === 0) return;
      yield row === undefined ? [...rows] : rows.map((one) => row.parse(one));
    }
  } finally {
    // After an error the transaction is over, and the cursor with it.
    await db.execute(sql`close taken_along`).catch(() => undefined);
  }
}

const hasLinks = ({ recordOf }: List, urls: RecordUrls): boolean =>
  recordOf !== null && Object.values(urls).some((template) => template !== undefined);

const columnsOf = (list: List, urls: RecordUrls): readonly string[] =>
  hasLinks(list, urls) ? [...list.columns, 'link'] : list.columns;

function linkOf({ recordOf }: List, row: ListRow, urls: RecordUrls): URL | null {
  if (recordOf === null) return null;
  const [kind, id] = recordOf(row);
  const url = recordUrlOf(urls, kind, typeof id === 'string' ? id : null);
  return url === null ? null : new URL(url);
}

async function* readCells(
  lists: Lists,
  name: ListName,
  counts: Record<string, number>,
): AsyncGenerator<Cell[][]> {
  const list: List = LISTS[name];
  const isLinked = hasLinks(list, lists.urls);
  counts[name] = 0;
  for await (const rows of readRows(lists, list)) {
    counts[name] += rows.length;
    yield rows.map((row) => [
      ...list.columns.map((column) => (row[column] ?? null) as Cell),
      ...(isLinked ? [linkOf(list, row, lists.urls)] : []),
    ]);
  }
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
export async function writeCsv(lists: Lists, folder: string): Promise<Counts> {
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
    const columns = columnsOf(LISTS[name], lists.urls);
    await writeWholeFile(join(folder, `${name}.csv`), toCsv(columns, readCells(lists, name, counts)));
  }
  return counts;
}

/** One sheet per list, after one that describes them. `counts` is complete at the end. */
export function toWorkbook(lists: Lists, counts: Record<string, number> = {}): AsyncGenerator<Uint8Array> {
  const { accountId, asOf, urls } = lists;
  const about = [
    ['account', accountId],
    ['as of', asOf],
    ...LIST_NAMES.map((name) => [name, LISTS[name].about]),
  ];
  const sheets = LIST_NAMES.map((name) => ({
    name,
    columns: columnsOf(LISTS[name], urls),
    rows: readCells(lists, name, counts),
  }));
  return renderWorkbook([{ name: 'about', columns: ['sheet', 'about'], rows: [about] }, ...sheets]);
}

export async function writeWorkbook(lists: Lists, path: string): Promise<Counts> {
  const counts: Record<string, number> = {};
  await writeWholeFile(path, toWorkbook(lists, counts));
  return counts;
}
