/** Writes the lists of the report with all their rows: as CSV files, or as one workbook. */
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { stringify } from 'csv-stringify/sync';
import { sql } from 'drizzle-orm';
import { SafetySyncError } from '../../shared/errors.ts';
import { recordUrlOf } from '../../shared/record-urls.ts';
import { toSpreadsheet } from '../../shared/spreadsheet.ts';
import { writeWholeFile } from '../../shared/write-whole-file.ts';
import { formatMoment } from '../words.ts';
import { type List, LIST_NAMES, type ListName, LISTS } from './lists.ts';
import { bind } from './questions/question.ts';
import type { Snapshot } from './read-report.ts';
import { type Cell, renderWorkbook, type Sheet } from './workbook.ts';

/** Rows that are in memory at once. */
const BATCH_ROWS = 1000;

/** Types that PostgreSQL sends as text: bigint and numeric. */
const NUMBER_TYPES = [20, 1700];

/** Number of rows, by list. */
type RowCounts = Record<string, number>;

/** Opens a list: its columns, and its rows as cells; the last one is the link to the record where links are configured. */
async function openList({ db, report }: Snapshot, name: ListName, counts: RowCounts): Promise<Sheet> {
  const list: List = LISTS[name];
  const { accountId, recordUrls: urls } = report;
  const recordOf = Object.values(urls).some((template) => template !== undefined) ? list.recordOf : undefined;
  const fetchRows = () => db.execute(sql`fetch forward ${sql.raw(String(BATCH_ROWS))} from taken_along`);
  // All rows are read, so the plan for the first ones is the wrong one.
  await db.execute(sql`set local cursor_tuple_fraction = 1`);
  await db.execute(sql`declare taken_along no scroll cursor for ${bind(list.sql, { accountId })}`);
  const first = await fetchRows();
  const columns = first.columns.map(({ name: column, type }) => ({
    name: column,
    isNumber: NUMBER_TYPES.includes(type) && !column.endsWith('id'),
  }));
  const toCells = (row: Readonly<Record<string, unknown>>): Cell[] => {
    const cells = columns.map(({ name: column, isNumber }) => {
      const cell = (row[column] ?? null) as Cell;
      return isNumber && cell !== null ? Number(cell) : cell;
    });
    if (recordOf === undefined) return cells;
    const [kind, id] = recordOf(row);
    const textOf = (value: unknown) =>
      typeof value === 'string' || typeof value === 'number' ? String(value) : null;
    const { response_id, form_id } = row;
    const url = recordUrlOf(urls, kind, {
      id: textOf(id),
      response_id: textOf(response_id),
      form_id: textOf(form_id),
    });
    return [...cells, url === null ? null : new URL(url)];
  };
  async function* readRows(): AsyncGenerator<Cell[][]> {
    counts[name] = 0;
    for (let rows = first; rows.length > 0; rows = await fetchRows()) {
      counts[name] += rows.length;
      yield rows.map(toCells);
    }
    await db.execute(sql`close taken_along`);
  }
  const names = columns.map((column) => column.name);
  return { name, columns: recordOf === undefined ? names : [...names, 'link'], rows: readRows() };
}

/** Each list in turn: its rows are read before the next one is opened. */
async function* openLists(snapshot: Snapshot, counts: RowCounts): AsyncGenerator<Sheet> {
  for (const name of LIST_NAMES) yield await openList(snapshot, name, counts);
}

function toCsvCell(cell: Cell): string {
  if (cell === null) return '';
  return typeof cell === 'string' ? toSpreadsheet(cell) : String(cell);
}

async function* toCsv({ columns, rows }: Sheet): AsyncGenerator<string> {
  yield stringify([columns]);
  for await (const batch of rows) yield stringify(batch.map((row) => row.map(toCsvCell)));
}

/** One file per list; makes the directory. */
export async function writeCsv(snapshot: Snapshot, folder: string): Promise<RowCounts> {
  await mkdir(folder, { recursive: true, mode: 0o700 }).catch((cause: unknown) => {
    const { code } = cause as NodeJS.ErrnoException;
    const why =
      code === 'EEXIST' || code === 'ENOTDIR' ? 'it is no directory' : `it cannot be made (${code ?? ''})`;
    throw new SafetySyncError('usage_invalid', `cannot write into ${folder}: ${why}; name another one`, {
      cause,
    });
  });
  const counts: RowCounts = {};
  for await (const list of openLists(snapshot, counts)) {
    await writeWholeFile(join(folder, `${list.name}.csv`), toCsv(list));
  }
  return counts;
}

/** One sheet per list, after one that describes them. `counts` is complete at the end. */
export function toWorkbook(snapshot: Snapshot, counts: RowCounts = {}): AsyncGenerator<Uint8Array> {
  const { accountId, asOfMs, timezone } = snapshot.report;
  const about = [
    ['account', accountId],
    ['as of', `${formatMoment(asOfMs, timezone)} (${timezone})`],
    ...LIST_NAMES.map((name) => [name, LISTS[name].about]),
  ];
  async function* sheets(): AsyncGenerator<Sheet> {
    yield { name: 'about', columns: ['sheet', 'about'], rows: [about] };
    yield* openLists(snapshot, counts);
  }
  return renderWorkbook(sheets());
}

export async function writeWorkbook(snapshot: Snapshot, path: string): Promise<RowCounts> {
  const counts: RowCounts = {};
  await writeWholeFile(path, toWorkbook(snapshot, counts));
  return counts;
}
