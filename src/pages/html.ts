/** HTML in which everything that comes from data is escaped: there is no other way to put a text into it. */

const ESCAPES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
  '`': '&#96;',
};

function escapeHtml(text: string): string {
  return text.replace(/[&<>"'`]/g, (character) => ESCAPES[character] ?? '');
}

/** Markup that is safe as it is. Made by `html` and, for our own constants, by `trusted`. */
export class Html {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

export type HtmlValue = Html | string | number | null | false | readonly HtmlValue[];

function toText(value: HtmlValue): string {
  if (value instanceof Html) return value.text;
  if (typeof value === 'string') return escapeHtml(value);
  if (typeof value === 'number') return String(value);
  if (value === null || value === false) return '';
  return value.map(toText).join('');
}

export function html(parts: TemplateStringsArray, ...values: HtmlValue[]): Html {
  return new Html(parts.reduce((text, part, index) => text + toText(values[index - 1] ?? null) + part));
}

/** A constant of this program: style and script. Never data. */
export function trusted(constant: string): Html {
  return new Html(constant);
}
