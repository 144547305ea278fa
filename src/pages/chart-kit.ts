/** Elements of SVG. Pure. */
import { type Html, html, type HtmlValue, trusted } from './html.ts';

type Tag = 'circle' | 'g' | 'line' | 'path' | 'rect' | 'svg' | 'text' | 'title';
type Attributes = Readonly<Record<string, string | number>>;

/** Rounds to a tenth of a pixel. */
export const round = (px: number): number => Math.round(px * 10) / 10;

export function element(tag: Tag, attributes: Attributes, ...content: HtmlValue[]): Html {
  const given = Object.entries(attributes).map(
    ([name, value]) => html` ${trusted(name)}="${typeof value === 'number' ? round(value) : value}"`,
  );
  return html`<${trusted(tag)}${given}>${content}</${trusted(tag)}>`;
}
