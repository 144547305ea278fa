/** HTML templates that escape all data; there is no other way to insert a text. */
import { escapeMarkup } from '../shared/escape-markup.ts';

/** Control characters, and marks that change the direction of the text after them. */
// eslint-disable-next-line no-control-regex -- these are the ones
const CONTROLS = /[\u0000-\u0008\v\f\u000e-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g;

export const withoutControls = (text: string): string => text.replace(CONTROLS, '\ufffd');

/** Safe markup, made by `html` or, for constants of this program, by `trusted`. */
export class Html {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

export type HtmlValue = Html | string | number | null | false | readonly HtmlValue[];

function toText(value: HtmlValue): string {
  if (value instanceof Html) return value.text;
  if (typeof value === 'string') return escapeMarkup(withoutControls(value));
  if (typeof value === 'number') return String(value);
  if (value === null || value === false) return '';
  return value.map(toText).join('');
}

export function html(texts: TemplateStringsArray, ...values: HtmlValue[]): Html {
  return new Html(texts.reduce((before, text, index) => before + toText(values[index - 1] ?? null) + text));
}

/** For constants of this program only, such as style and script; never for data. */
export function trusted(constant: string): Html {
  return new Html(constant);
}

export const list = (items: readonly HtmlValue[]): Html =>
  html`<ul>
    ${items.map((item) => html`<li>${item}</li>`)}
  </ul>`;
