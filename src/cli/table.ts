/** Aligned tables. */
import { formatCount } from '../shared/format.ts';
import { stripVTControlCharacters } from 'node:util';
import { type Terminal, toEscape, toPrintable } from './terminal.ts';

/** Numbers are counts; null is a dash. */
type Cell = string | number | null;
/** By title: returns the cell of a row. */
type Columns<Row> = Readonly<Record<string, (row: Row) => Cell>>;

/** The account of each row, where there are several. */
export const accountColumn = (
  rows: readonly { readonly account_id: string }[],
): Columns<{ readonly account_id: string }> =>
  new Set(rows.map((row) => row.account_id)).size > 1 ? { account: (row) => row.account_id } : {};

/** A cell is on one line, because a text with line breaks could look like other rows. */
function toText(cell: Cell): string {
  if (cell === null) return '–';
  return typeof cell === 'number' ? formatCount(cell) : toPrintable(cell).replace(/[\t\n]/g, toEscape);
}

const GAP = '  ';
/** A text may be cut to so many characters. */
const SHORTEST_CUT = 8;

const widthOf = (text: string): number => stripVTControlCharacters(text).length;

/** A cut line loses its colours. */
const cutTo = (width: number, line: string): string =>
  widthOf(line) <= width ? line : `${stripVTControlCharacters(line).slice(0, width - 1)}…`;

/**
 * Where a line is too short for the table, columns that do not fit are left out and named below it; the last one may be a
 * cut text.
 */
export function renderRows<Row>(
  { colors, width = Infinity }: Pick<Terminal, 'colors'> & { readonly width?: number | undefined },
  rows: readonly Row[],
  columns: Columns<Row>,
): string {
  let room = width;
  const leftOut: string[] = [];
  const shown = Object.entries(columns).flatMap(([title, cellOf]) => {
    const cells = rows.map(cellOf);
    const texts = [colors.dim(title), ...cells.map(toText)];
    const isRight = cells.some((cell) => typeof cell === 'number');
    const size = Math.max(...texts.map(widthOf));
    if (size > room && (isRight || room < SHORTEST_CUT)) {
      leftOut.push(title);
      return [];
    }
    room -= size + GAP.length;
    return [{ texts, isRight, size }];
  });
  const lines = ['', ...rows].map((_, line) => {
    const cells = shown.map(({ texts, isRight, size }) => {
      const text = texts[line] ?? '';
      const blanks = ' '.repeat(size - widthOf(text));
      return isRight ? blanks + text : text + blanks;
    });
    return cutTo(width, cells.join(GAP).trimEnd());
  });
  if (leftOut.length > 0) lines.push(colors.dim(`(no room for: ${leftOut.join(', ')})`));
  return lines.join('\n');
}
