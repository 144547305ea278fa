import { type Html, html, type HtmlValue } from './html.ts';

export interface TableColumn<Row> {
  readonly title: string;
  readonly cell: (row: Row) => HtmlValue;
  readonly isNumber?: true;
  /** Hidden on narrow screens. */
  readonly isSpare?: true;
}

interface TableContent<Row> {
  /** Absent: a heading above names the table. */
  readonly caption?: string;
  readonly rows: readonly Row[];
  /** The first cell of a row is its header. */
  readonly columns: readonly TableColumn<Row>[];
  /** Shown below the row, across the whole table. null: there is none. */
  readonly streamRemark?: (row: Row) => HtmlValue;
}

export function table<Row>({ caption, rows, columns, streamRemark }: TableContent<Row>): Html {
  const styled = columns.map(({ isNumber, isSpare, ...column }) => ({
    ...column,
    style: [isNumber && 'num', isSpare && 'spare'].filter((name) => name !== undefined).join(' '),
  }));
  const renderRow = (row: Row): Html => {
    const below = streamRemark?.(row) ?? null;
    return html`<tr>
        ${styled.map(({ cell, style }, at) =>
          at === 0
            ? html`<th scope="row" class="${style}">${cell(row)}</th>`
            : html`<td class="${style}">${cell(row)}</td>`,
        )}
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
          ${styled.map(({ title, style }) => html`<th scope="col" class="${style}">${title}</th>`)}
        </tr>
      </thead>
      <tbody>
        ${rows.map(renderRow)}
      </tbody>
    </table>
  </div>`;
}
