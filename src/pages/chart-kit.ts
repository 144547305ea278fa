/** The chart kit of both pages: SVG without inline styles, which the policy of the status page forbids. Pure. */
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

/** A drawing with a description for screen readers. */
export function drawing(
  label: string,
  [width, height]: readonly [number, number],
  attributes: Attributes,
  ...content: HtmlValue[]
): Html {
  const size = { role: 'img', 'aria-label': label, viewBox: `0 0 ${width} ${height}` };
  return element('svg', { ...size, ...attributes }, ...content);
}

interface Segment extends Attributes {
  readonly height: number;
}

/** Segments of one column, the first at the bottom. Those without a height are left out. */
export function stackedColumn(
  x: number,
  width: number,
  bottom: number,
  segments: readonly Segment[],
): Html[] {
  let y = bottom;
  return segments
    .filter(({ height }) => height > 0)
    .map((segment) => {
      y = round(y - segment.height);
      return element('rect', { x, y, width, ...segment });
    });
}
