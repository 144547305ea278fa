/** Writes the lists of the report with all their rows: as CSV files, or as one workbook. */
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { stringify } from 'csv-stringify/sync';
import { sql } from 'drizzle-orm';
import { describeArea } from './area.ts';
import { SafetySyncError } from '../../shared/errors.ts';
import { toSpreadsheet } from '../../shared/spreadsheet.ts';
import { writeWholeFile } from '../../shared/write-whole-file.ts';
import { formatMoment } from '../words.ts';
import { fetchRows, isDay, type Row, titleOf } from './cells.ts';
import { keyFiguresOf, notesOf } from './first-screen.ts';
import { linkOf } from './list-table.ts';
import { type List, LIST_NAMES, type ListName, LISTS } from './lists.ts';
import type { Snapshot } from './read-report.ts';
import { bind } from './statement.ts';
import { type Cell, renderWorkbook, type Sheet } from './workbook.ts';

/** Rows that are in memory at once. */
const BATCH_ROWS = 1000;

/** A list with the account of each row and, where links are configured, the one to its record. */
async function openList({ db, scope, report }: Snapshot, name: ListName) {
  const list: List = LISTS[name];
  const next = sql.raw(`fetch forward ${BATCH_ROWS} from taken_along`);
  // All rows are read, so the plan for the first ones is the wrong one.
  await db.execute(sql`set local cursor_tuple_fraction = 1`);
  await db.execute(sql`declare taken_along no scroll cursor for ${bind(list.sql, scope)}`);
  const first = await fetchRows(db, next);
  const hasLinks = list.records.some(([kind]) => report.recordUrls[kind] !== undefined);
  const toCells = (row: Row): Cell[] => {
    const url = hasLinks ? linkOf(report, name, row) : null;
    const cells: Cell[] = [...first.columns.map((column) => row[column] ?? null), report.accountId];
    return hasLinks ? [...cells, url === null ? null : new URL(url)] : cells;
  };
  async function* readRows(): AsyncGenerator<Cell[][]> {
    for (let { rows } = first; rows.length > 0; { rows } = await fetchRows(db, next)) yield rows.map(toCells);
    await db.execute(sql`close taken_along`);
  }
  return { columns: [...first.columns, 'account_id', ...(hasLinks ? ['link'] : [])], rows: readRows() };
}

function toCsvCell(cell: Cell): string {
  if (cell === null) return '';
  return typeof cell === 'string' ? toSpreadsheet(cell) : String(cell);
}

export async function* toCsv(snapshot: Snapshot, name: ListName): AsyncGenerator<string> {
  const { columns, rows } = await openList(snapshot, name);
  yield stringify([columns]);
  for await (const batch of rows) yield stringify(batch.map((row) => row.map(toCsvCell)));
}

/** One file per list; makes the directory. */
export async function writeCsv(snapshot: Snapshot, folder: string): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 }).catch((cause: unknown) => {
    const { code = '' } = cause as NodeJS.ErrnoException;
    const why =
      code === 'EEXIST' || code === 'ENOTDIR' ? 'it is no directory' : `it cannot be made (${code})`;
    throw new SafetySyncError('usage_invalid', `cannot write into ${folder}: ${why}; name another one`, {
      cause,
    });
  });
  for (const name of LIST_NAMES) await writeWholeFile(join(folder, `${name}.csv`), toCsv(snapshot, name));
}

/** One sheet per list, in words, after one that describes them and their data. */
export function toWorkbook(snapshot: Snapshot): AsyncGenerator<Uint8Array> {
  const { report } = snapshot;
  const about: Cell[][] = [
    ['Account', report.accountId],
    ...(report.area === null ? [] : [['Area', describeArea(report.area)]]),
    ['As of', `${formatMoment(report.asOfMs, report.timezone)} (${report.timezone})`],
    ...notesOf(report).map(({ text }) => ['This data', text]),
    ...keyFiguresOf(report).map(({ title, value, beside }) => [title, `${value} (${beside})`]),
    ...LIST_NAMES.map((name) => [LISTS[name].title, LISTS[name].about]),
  ];
  async function* sheets(): AsyncGenerator<Sheet> {
    yield {
      name: 'About',
      columns: [
        { title: 'Sheet', width: 25 },
        { title: 'About', width: 100 },
      ],
      rows: [about],
    };
    for (const name of LIST_NAMES) {
      const { columns, rows } = await openList(snapshot, name);
      const widthOf = (column: string): number => {
        if (/_note$|^about$|^missing_trainings$/.test(column)) return 40;
        return /name$|label$|title$|offices?$|business$|group$|number$|^area$|link$/.test(column) ? 21 : 12;
      };
      const titles = columns.map((column) => ({
        title: titleOf(column),
        width: widthOf(column),
        isDay: isDay(column),
        isSpare: /id$|^link$/.test(column),
      }));
      yield { name: LISTS[name].title, columns: titles, rows };
    }
  }
  return renderWorkbook(sheets());
}
