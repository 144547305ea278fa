/** The first rows of a list as a table of the page. */
import { formatCount } from '../../shared/format.ts';
import type { Area } from './area.ts';
import { recordUrlOf } from '../../shared/record-urls.ts';
import { shortenPseudonyms } from '../../shared/pseudonym.ts';
import { type Html, html, type HtmlValue } from '../html.ts';
import { type Column, table } from '../table.ts';
import { formatDay, formatShare, shorten } from '../words.ts';
import { type Cell, isDay, type Row, titleOf } from './cells.ts';
import { type List, type ListName, LISTS } from './lists.ts';
import type { Report } from './read-report.ts';

/** Files that were made with the page. */
export interface Along {
  /** The address of the workbook, relative to the page. */
  readonly xlsx?: string | undefined;
  /** The address of a list as CSV. */
  readonly csvOf?: ((list: ListName) => string) | undefined;
  /** The address of the report of an area. */
  readonly reportOf?: ((area: Area) => string) | undefined;
  /** The command that writes them, where there are none. */
  readonly command?: string | undefined;
}

const idOf = (row: Row, column: string): string | null => {
  const id = row[column] ?? null;
  return id === null ? null : String(id);
};

/** null: the row is no record, or there is no template for its kind. */
export function linkOf({ recordUrls }: Pick<Report, 'recordUrls'>, list: ListName, row: Row): string | null {
  const { records }: List = LISTS[list];
  const [kind, column] = records.find(([, one]) => idOf(row, one) !== null) ?? [];
  if (kind === undefined || column === undefined) return null;
  return recordUrlOf(recordUrls, kind, {
    id: idOf(row, column),
    response_id: idOf(row, 'response_id'),
    form_id: idOf(row, 'form_id'),
  });
}

export const link = (url: string | null, shown: HtmlValue): HtmlValue =>
  url === null ? shown : html`<a href="${url}" rel="noreferrer">${shown}</a>`;

const NOTE_LENGTH = 140;

function shownCell(column: string, cell: Cell): HtmlValue {
  if (cell === null || cell === '') return '–';
  if (typeof cell === 'boolean') return cell ? 'yes' : 'no';
  if (column === 'days_expired' && cell === 0) return 'expired today';
  if (typeof cell === 'number') return column.startsWith('percent') ? formatShare(cell, 100) : cell;
  if (isDay(column)) return formatDay(cell);
  const text = shortenPseudonyms(cell);
  return /_note$|^about$/.test(column) ? shorten(text, NOTE_LENGTH) : text;
}

/** Where all rows are: after a table with fewer. */
function rest({ xlsx, csvOf }: Along, list: ListName, count: number): Html | false {
  const files = [
    ...(xlsx === undefined ? [] : [html`<a href="${xlsx}">workbook</a>, sheet ${LISTS[list].title}`]),
    ...(csvOf === undefined ? [] : [html`<a href="${csvOf(list)}">CSV</a>`]),
  ];
  const where = files.map((file, at) => [at === 0 ? ': ' : '; ', file]);
  return count > 0 && html`<p class="note">and ${formatCount(count)} more${where}</p>`;
}

interface ListTableOptions {
  readonly caption?: string;
  /** The first one is linked; `~` before a name: hidden on narrow screens; `=` after it: its title. */
  readonly columns: string;
  /** Default: the first ones of the list. */
  readonly rows?: readonly Row[];
  readonly most?: number;
  /** A column below each row. */
  readonly remark?: string;
  /** How many rows there are. Default: those of the list. */
  readonly total?: number;
  /** Target of the first column's link. Default: the record of the row. */
  readonly urlOf?: (row: Row) => string | null;
}

export function listTable(
  report: Report,
  list: ListName,
  along: Along,
  { caption, columns, remark, ...options }: ListTableOptions,
): HtmlValue {
  const all = options.rows ?? report.lists[list].rows;
  const rows = all.slice(0, options.most);
  const { urlOf = (row: Row) => linkOf(report, list, row) } = options;
  if (rows.length === 0) return null;
  const toColumn = (word: string, at: number): Column<Row> => {
    const [name = '', title = titleOf(name)] = word.replace('~', '').split('=');
    const isNumber = isDay(name) || rows.some((row) => typeof row[name] === 'number');
    const style = `${isNumber ? 'num ' : ''}${word.startsWith('~') ? 'spare' : ''}`.trim();
    const cellOf = (row: Row): HtmlValue => {
      const cell = shownCell(name, row[name] ?? null);
      return at === 0 ? link(urlOf(row), cell) : cell;
    };
    return [title.replaceAll('_', ' '), cellOf, style as NonNullable<Column<Row>[2]>];
  };
  return [
    table({
      caption: caption ?? LISTS[list].about.replace(/\.$/, ''),
      rows,
      columns: columns.split(' ').map(toColumn),
      remark: (row) =>
        remark === undefined || row[remark] === null ? null : shownCell(remark, row[remark] ?? null),
    }),
    rest(along, list, (options.total ?? report.lists[list].total) - rows.length),
  ];
}
