/** Aligned tables. */
import { formatCount } from '../shared/format.ts';
import { widthOf } from '../shared/wrap-lines.ts';
import { stripVTControlCharacters } from 'node:util';
import { type Terminal, toEscape, toPrintable } from './terminal.ts';

/** Numbers are counts; null is a dash. */
type Cell = string | number | null;
/** By title: returns the cell of a row. A column with ? behind its title is left out where a line is too short. */
type Columns<Row> = Readonly<Record<string, (row: Row) => Cell>>;

/** The account of each row, where there are several. */
export const accountColumn = (
  rows: readonly { readonly account_id: string }[],
): Columns<{ readonly account_id: string }> =>
  new Set(rows.map((row) => row.account_id)).size > 1 ? { account: (row) => row.account_id } : {};

/** A cell is on one line, because a text with line breaks could look like other rows. */
const toText = (cell: Cell): string =>
  cell === null
    ? '–'
    : typeof cell === 'number'
      ? formatCount(cell)
      : toPrintable(cell).replace(/[\t\n]/g, toEscape);

const GAP = '  ';
/** The last column may be cut to so many characters. */
const SHORTEST_CUT = 15;

/** A cut line loses its colours. */
const cutTo = (width: number, line: string): string =>
  widthOf(line) <= width ? line : `${stripVTControlCharacters(line).slice(0, width - 1)}…`;

/** Where a line is too short for the table, columns are left out, the last one first; then lines are cut. */
export function renderRows<Row>(
  { colors, width = Infinity }: Pick<Terminal, 'colors'> & { readonly width?: number | undefined },
  rows: readonly Row[],
  columns: Columns<Row>,
): string {
  const shown = Object.entries(columns).map(([name, cellOf]) => {
    const title = name.replace('?', '');
    const cells = rows.map(cellOf);
    const texts = [colors.dim(title), ...cells.map(toText)];
    const isRight = cells.some((cell) => typeof cell === 'number');
    return { title, isSpare: name !== title, texts, isRight, size: Math.max(...texts.map(widthOf)) };
  });
  const least = () =>
    shown.reduce((sum, { size }, at) => {
      const isLast = at === shown.length - 1;
      return sum + (isLast ? Math.min(size, SHORTEST_CUT) : size + GAP.length);
    }, 0);
  const leftOut: string[] = [];
  for (let at = shown.length - 1; at >= 0 && least() > width; at -= 1)
    if (shown[at]?.isSpare) leftOut.unshift(...shown.splice(at, 1).map(({ title }) => title));
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
