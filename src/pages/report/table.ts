import { type Html, html, type HtmlValue } from '../html.ts';

export interface TableColumn {
  readonly title: string;
  readonly isNumber?: true;
  /** Left out where the screen is narrow. */
  readonly isSpare?: true;
}

function classOf({ isNumber, isSpare }: TableColumn): string {
  return [isNumber ? 'num' : '', isSpare ? 'spare' : ''].filter((name) => name !== '').join(' ');
}

/** The first cell of a row names it. */
export function table(
  caption: string,
  columns: readonly TableColumn[],
  rows: readonly (readonly HtmlValue[])[],
): Html {
  return html`<div class="scroll">
    <table>
      <caption>
        ${caption}
      </caption>
      <thead>
        <tr>
          ${columns.map((column) => html`<th scope="col" class="${classOf(column)}">${column.title}</th>`)}
        </tr>
      </thead>
      <tbody>
        ${rows.map(
          (cells) =>
            html`<tr>
              ${cells.map((cell, at) => {
                const name = classOf(columns[at] ?? { title: '' });
                return at === 0
                  ? html`<th scope="row" class="${name}">${cell}</th>`
                  : html`<td class="${name}">${cell}</td>`;
              })}
            </tr>`,
        )}
      </tbody>
    </table>
  </div>`;
}
