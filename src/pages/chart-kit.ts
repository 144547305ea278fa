/** The chart kit of both pages: SVG without inline styles, which the policy of the status page forbids. Pure. */
import { formatCount } from '../shared/format.ts';
import { type Html, html, type HtmlValue, trusted } from './html.ts';

type Tag = 'circle' | 'g' | 'line' | 'path' | 'rect' | 'svg' | 'text' | 'title';
type Attributes = Readonly<Record<string, string | number>>;

/** Widths of the drawings, in px. */
const WIDE = 880;
const NARROW = 330;
export const CHARACTER_PX = 7;
/** Names longer than this are truncated in charts; tables show them in full. */
export const NAME_LENGTH = 20;

export interface Texts {
  readonly title: string;
  /** Description of the chart for screen readers. */
  readonly label: string;
  readonly note?: string | undefined;
}

export interface Series {
  readonly name: string;
  readonly color: string;
}

export const textWidth = (text: string): number => text.length * CHARACTER_PX;

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

/** A chart with its title, drawn in a wide and a narrow version. */
export function chart(
  { title, label, note }: Texts,
  height: number,
  draw: (width: number) => HtmlValue,
): Html {
  const drawingOf = (name: string, width: number): Html =>
    drawing(label, [width, height], { class: name, fill: 'currentColor' }, draw(width));
  return html`<figure>
    <figcaption>${title}</figcaption>
    ${drawingOf('wide', WIDE)} ${drawingOf('narrow', NARROW)}
    ${note !== undefined && html`<p class="note">${note}</p>`}
  </figure>`;
}

/** A text whose middle is at `y`. */
export function textAt(x: number, y: number, text: string, attributes: Attributes = {}): Html {
  return element('text', { x, y, dy: '0.32em', ...attributes }, text);
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

/** Round steps from 0 on, at most six. Counts have no fractions. */
function stepsTo(most: number): number[] {
  const least = Math.max(1, most / 5);
  const power = 10 ** Math.floor(Math.log10(least));
  const step = power * (least > 5 * power ? 10 : least > 2 * power ? 5 : least > power ? 2 : 1);
  return Array.from({ length: Math.floor(most / step) + 1 }, (_, at) => at * step);
}

interface CountAxis {
  /** X coordinates at which the lines begin and end, px. */
  readonly from: number;
  readonly to: number;
  readonly most: number;
  readonly yOf: (value: number) => number;
}

/** Horizontal lines at round counts, with their values to the left. */
export function countAxis({ from, to, most, yOf }: CountAxis): HtmlValue {
  return stepsTo(most).map((count) => {
    const y = yOf(count);
    const stroke = count === 0 ? 'var(--dim)' : 'var(--line)';
    return [
      element('line', { x1: from, x2: to, y1: y, y2: y, stroke }),
      textAt(from - 9, y, formatCount(count), { 'text-anchor': 'end' }),
    ];
  });
}
