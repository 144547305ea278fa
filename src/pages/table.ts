import { formatCount } from '../shared/format.ts';
import { type Html, html, type HtmlValue } from './html.ts';

/** `num`: aligned right. `spare`: hidden on narrow screens. A number in a cell is a count. */
export type Column<Row> = readonly [
  title: string,
  cell: (row: Row) => HtmlValue,
  style?: 'num' | 'spare' | 'num spare',
];

interface TableContent<Row> {
  /** Absent: a heading above names the table. */
  readonly caption?: string;
  readonly rows: readonly Row[];
  /** The first cell of a row is its header. */
  readonly columns: readonly Column<Row>[];
  /** Shown below the row, across the whole table. null: there is none. */
  readonly remark?: (row: Row) => HtmlValue;
}

export function table<Row>({ caption, rows, columns, remark }: TableContent<Row>): Html {
  const renderRow = (row: Row): Html => {
    const cells = columns.map(([, cell, style = ''], at) => {
      const value = cell(row);
      const shown = typeof value === 'number' ? formatCount(value) : value;
      return at === 0
        ? html`<th scope="row" class="${style}">${shown}</th>`
        : html`<td class="${style}">${shown}</td>`;
    });
    const below = remark?.(row) ?? null;
    return html`<tr>
        ${cells}
      </tr>
      ${
        below !== null &&
        html`<tr>
          <td class="remark" colspan="${columns.length}">${below}</td>
        </tr>`
      }`;
  };
  return html`<div class="scroll">
    <table>
      ${
        caption !== undefined &&
        html`<caption>
          ${caption}
        </caption>`
      }
      <thead>
        <tr>
          ${columns.map(([title, , style = '']) => html`<th scope="col" class="${style}">${title}</th>`)}
        </tr>
      </thead>
      <tbody>
        ${rows.map(renderRow)}
      </tbody>
    </table>
  </div>`;
}
