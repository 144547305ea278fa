import { type Html, html, type HtmlValue } from './html.ts';

export interface TableColumn {
  readonly title: string;
  readonly isNumber?: true;
  /** Hidden on narrow screens. */
  readonly isSpare?: true;
}

export type TableRow =
  | readonly HtmlValue[]
  /** `remark` is shown below the row, across the whole table. */
  | { readonly cells: readonly HtmlValue[]; readonly remark: HtmlValue };

function classOf({ isNumber, isSpare }: TableColumn): string {
  return [isNumber ? 'num' : '', isSpare ? 'spare' : ''].filter((name) => name !== '').join(' ');
}

function renderRow(row: TableRow, columns: readonly TableColumn[]): Html {
  const { cells, remark } = 'cells' in row ? row : { cells: row, remark: null };
  return html`<tr>
      ${columns.map((column, at) => {
        const cell = cells[at] ?? null;
        return at === 0
          ? html`<th scope="row" class="${classOf(column)}">${cell}</th>`
          : html`<td class="${classOf(column)}">${cell}</td>`;
      })}
    </tr>
    ${
      remark !== null &&
      html`<tr>
        <td class="remark" colspan="${columns.length}">${remark}</td>
      </tr>`
    }`;
}

/** The first cell of a row is its header. null: a heading above names the table. */
export function table(
  caption: string | null,
  columns: readonly TableColumn[],
  rows: readonly TableRow[],
): Html {
  return html`<div class="scroll">
    <table>
      ${
        caption !== null &&
        html`<caption>
          ${caption}
        </caption>`
      }
      <thead>
        <tr>
          ${columns.map((column) => html`<th scope="col" class="${classOf(column)}">${column.title}</th>`)}
        </tr>
      </thead>
      <tbody>
        ${rows.map((row) => renderRow(row, columns))}
      </tbody>
    </table>
  </div>`;
}
