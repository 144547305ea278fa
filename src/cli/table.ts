/** Aligned tables. Each column has a function that returns its cell of a row. */
import { stripVTControlCharacters } from 'node:util';
import { formatCount } from '../shared/format.ts';
import { widthOf } from '../shared/wrap-lines.ts';
import { type Terminal, toEscape, toPrintable } from './terminal.ts';

export interface ColumnOf<Row> {
  readonly title: string;
  readonly align?: 'left' | 'right';
  /** The column may be omitted if a line is too short for the table; the one with the highest number is omitted first. */
  readonly spare?: number | undefined;
  /** Its cells are cut if a line is still too short after other columns were omitted. */
  readonly isCut?: true;
  /** false: left out, with its cells. */
  readonly isShown?: boolean;
  readonly cellOf: (row: Row) => string;
}

/** The account of a row, where there are several. */
export const accountColumn = (isMany: boolean): ColumnOf<{ readonly account_id?: string | undefined }> => ({
  title: 'account',
  isShown: isMany,
  cellOf: (row) => row.account_id ?? '',
});

export const countColumn = <Row>(
  title: string,
  countOf: (row: Row) => number | null,
  spare?: number,
): ColumnOf<Row> => ({
  title,
  align: 'right',
  spare,
  cellOf: (row) => {
    const count = countOf(row);
    return count === null ? '–' : formatCount(count);
  },
});

/** Minimum characters of a cut cell. */
const SHORTEST_CUT = 15;

/** A cell is on one line, because a text with line breaks could look like other rows. */
const toCell = (text: string): string => toPrintable(text).replace(/[\t\n]/g, toEscape);

const GAP = '  ';

/** A cut cell loses its colours. */
const cutTo = (room: number, cell: string): string =>
  widthOf(cell) <= room ? cell : `${stripVTControlCharacters(cell).slice(0, room - 1)}…`;

/** An aligned table without lines. Columns for which a line is too short are omitted, the one with the highest `spare` first. */
export function renderRows<Row>(
  rows: readonly Row[],
  columns: readonly ColumnOf<Row>[],
  { colors, width = Infinity }: Pick<Terminal, 'colors'> & { readonly width?: number | undefined },
): string {
  const all = columns.flatMap(({ title, align, spare = -1, isCut, isShown = true, cellOf }) => {
    const cells = [colors.dim(title), ...rows.map((row) => toCell(cellOf(row)))];
    const widest = Math.max(...cells.map(widthOf));
    const least = isCut ? Math.min(widest, SHORTEST_CUT) : widest;
    return isShown ? [{ title, align, spare, isCut, cells, least, width: widest }] : [];
  });
  let kept = all;
  const spares = all.filter(({ spare }) => spare >= 0).sort((one, other) => other.spare - one.spare);
  const room = () => kept.reduce((left, { least }) => left - least - GAP.length, width + GAP.length);
  while (room() < 0 && spares.length > 0) {
    const omitted = spares.shift();
    kept = kept.filter((column) => column !== omitted);
  }
  let spareRoom = Math.max(0, room());
  const names = all.filter((column) => !kept.includes(column)).map(({ title }) => title);
  let shares = kept.filter(({ isCut }) => isCut).length;
  kept = kept.map((column) => {
    if (!column.isCut) return column;
    const more = Math.min(column.width - column.least, Math.floor(spareRoom / shares));
    spareRoom -= more;
    shares -= 1;
    return { ...column, width: column.least + more };
  });
  const lines = ['', ...rows].map((_, line) =>
    kept
      .map(({ cells, align, width: most }) => {
        const cell = cutTo(most, cells[line] ?? '');
        const blanks = ' '.repeat(most - widthOf(cell));
        return align === 'right' ? blanks + cell : cell + blanks;
      })
      .join(GAP)
      .trimEnd(),
  );
  if (names.length > 0) lines.push(colors.dim(`(no room for: ${names.join(', ')})`));
  return lines.join('\n');
}
