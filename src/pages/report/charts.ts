/** The frame of the report's charts, and bar charts. Colours are variables of the page's style. */
import { formatCount } from '../../shared/format.ts';
import { groupBy } from '../../shared/group-by.ts';
import { drawing, element, stackedColumn, textAt } from '../chart-kit.ts';
import { type Html, html, type HtmlValue } from '../html.ts';
import { formatShare, formatShortDay, shorten, sumOf } from '../words.ts';

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

/** Widths of the drawings, in px. */
const WIDE = 880;
const NARROW = 330;
const CHARACTER_PX = 7;
const BAR_PX = 23;
/** Names longer than this are truncated in charts; tables show them in full. */
const NAME_LENGTH = 20;
export const END = { 'text-anchor': 'end' };
export const MIDDLE = { 'text-anchor': 'middle' };
export const TEXT = { fill: 'var(--text)' };

export const textWidth = (text: string): number => text.length * CHARACTER_PX;
export const shortName = (name: string): string => shorten(name, NAME_LENGTH);

/** Width of the names to the left of bars. */
const namesWidth = (names: readonly string[]): number =>
  Math.max(...names.map((name) => Math.min(name.length, NAME_LENGTH))) * CHARACTER_PX + 14;

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

interface Bar {
  readonly label: string;
  readonly value: number;
  readonly color: string;
}

/** Horizontal bars with their values, and their shares of the sum, at the ends. */
export function bars(texts: Omit<Texts, 'label'>, rows: readonly Bar[]): Html {
  const left = namesWidth(rows.map(({ label }) => label));
  const total = sumOf(rows, 'value');
  const ends = rows.map(({ value }) => `${formatCount(value)} (${formatShare(value, total)})`);
  const described = rows.map(({ label, value }) => `${label}: ${formatCount(value)}`).join('; ');
  const right = Math.max(...ends.map(textWidth)) + 10;
  const most = Math.max(1, ...rows.map(({ value }) => value));
  return chart({ ...texts, label: described }, rows.length * 32 + 8, (width) =>
    rows.map(({ label, value, color: fill }, at) => {
      const y = 20 + 32 * at;
      const length = (value / most) * (width - left - right);
      return [
        textAt(left - 9, y, shortName(label), END),
        element('rect', { x: left, y: y - BAR_PX / 2, width: length, height: BAR_PX, rx: 2, fill }),
        textAt(left + length + 6, y, ends[at] ?? '', TEXT),
      ];
    }),
  );
}

interface BarSegment {
  /** The name of its bar. */
  readonly bar: string;
  readonly series: string;
  readonly value: number;
}

/** One stacked bar per name, with segments in the order of the series. A segment shows its value if it is wide enough. */
export function stackedBars(
  texts: Texts,
  series: readonly (Series & { readonly onColor: string })[],
  segments: readonly BarSegment[],
): Html {
  const bars = groupBy(segments, ({ bar }) => bar);
  const totals = bars.map((bar) => sumOf(bar, 'value'));
  const most = Math.max(1, ...totals);
  const left = namesWidth(segments.map(({ bar }) => bar));
  let legendX = 0;
  const legend = series.map(({ name, color: fill }) => {
    const x = legendX;
    legendX += textWidth(shortName(name)) + 34;
    return [element('rect', { x, y: 7, width: 10, height: 10, fill }), textAt(x + 16, 12, shortName(name))];
  });
  return chart(texts, bars.length * 34 + 36, (width) => [
    legend,
    bars.map((bar, at) => {
      const y = 47 + 34 * at;
      let x = left;
      const drawn = series.flatMap(({ name, color, onColor }) =>
        bar
          .filter((segment) => segment.series === name)
          .map(({ value }) => {
            const length = (value / most) * (width - left - 60);
            const text = formatCount(value);
            const middle = x + length / 2;
            const rect = { x, y: y - 12, width: length, height: 25, fill: color, stroke: 'var(--card)' };
            x += length;
            const hasRoom = length > textWidth(text) + 8;
            return [element('rect', rect), hasRoom && textAt(middle, y, text, { ...MIDDLE, fill: onColor })];
          }),
      );
      return [
        textAt(left - 9, y, shortName(bar[0].bar), END),
        drawn,
        textAt(x + 6, y, formatCount(totals[at] ?? 0)),
      ];
    }),
  ]);
}

interface Week {
  /** The Monday of the week. */
  readonly monday: string;
  readonly value: number;
}

/** One column per week; the current week is dashed, because it is incomplete. */
export function weekColumns(texts: Texts, weeks: readonly Week[]): Html {
  const [height, bottom, top] = [180, 150, 18];
  const most = Math.max(1, ...weeks.map(({ value }) => value));
  return chart(texts, height, (width) => {
    const band = (width - 8) / weeks.length;
    // Each name, or each fourth where they would overlap.
    const every = band > textWidth('31 Mar') ? 1 : 4;
    return [
      weeks.map(({ monday, value }, at) => {
        const x = 4 + band * at;
        const tall = (value / most) * (bottom - top);
        const unfinished = { 'fill-opacity': 0.35, stroke: 'var(--warn)', 'stroke-dasharray': '4,3' };
        const fill = { fill: 'var(--warn)', rx: 2, ...(at === 0 ? unfinished : {}) };
        return [
          stackedColumn(x + band * 0.1, band * 0.8, bottom, [{ height: tall, ...fill }]),
          textAt(x + band / 2, bottom - tall - 9, formatCount(value), { ...MIDDLE, ...TEXT }),
          at % every === 0 && textAt(x + band / 2, bottom + 14, formatShortDay(monday), MIDDLE),
        ];
      }),
      element('line', { x1: 4, x2: width - 4, y1: bottom, y2: bottom, stroke: 'var(--dim)' }),
    ];
  });
}
