/** Tables whose columns know their cells. */
import { formatCount } from '../shared/format.ts';
import { type Column, renderTable, type Terminal } from './terminal.ts';

export interface ColumnOf<Row> extends Column {
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
  countOf: (row: Row) => number,
  spare?: number,
): ColumnOf<Row> => ({ title, align: 'right', spare, cellOf: (row) => formatCount(countOf(row)) });

export function renderRows<Row>(
  rows: readonly Row[],
  columns: readonly ColumnOf<Row>[],
  terminal: Pick<Terminal, 'colors'> & Partial<Pick<Terminal, 'width'>>,
): string {
  const cells = rows.map((row) => columns.map(({ cellOf }) => cellOf(row)));
  return renderTable(columns, cells, terminal);
}
