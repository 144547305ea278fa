/** Bar charts that compare values. Each bar shows its value. */
import type { Html } from '../html.ts';
import { formatCount } from '../../shared/format.ts';
import {
  CHARACTER_PX,
  stackedColumn,
  element,
  chart,
  NAME_LENGTH,
  type Series,
  type Texts,
  textAt,
  textWidth,
} from '../chart-kit.ts';
import { formatShare, formatShortDay, shorten } from '../words.ts';

const BAR_PX = 23;
const END = { 'text-anchor': 'end' };
const MIDDLE = { 'text-anchor': 'middle' };

/** Width of the names to the left of bars. */
const namesWidth = (names: readonly string[]): number =>
  Math.max(...names.map((name) => Math.min(name.length, NAME_LENGTH))) * CHARACTER_PX + 14;

interface Bar {
  readonly label: string;
  readonly value: number;
  readonly color: string;
}

/** Horizontal bars with their values, and their shares of the sum, at the ends. */
export function bars(texts: Omit<Texts, 'label'>, rows: readonly Bar[]): Html {
  const left = namesWidth(rows.map(({ label }) => label));
  const total = rows.reduce((sum, { value }) => sum + value, 0);
  const ends = rows.map(({ value }) => `${formatCount(value)} (${formatShare(value, total)})`);
  const described = rows.map(({ label, value }) => `${label}: ${formatCount(value)}`).join('; ');
  const right = Math.max(...ends.map(textWidth)) + 10;
  const most = Math.max(1, ...rows.map(({ value }) => value));
  return chart({ ...texts, label: described }, rows.length * 32 + 8, (width) =>
    rows.map(({ label, value, color }, at) => {
      const y = 20 + 32 * at;
      const length = (value / most) * (width - left - right);
      return [
        textAt(left - 9, y, shorten(label, NAME_LENGTH), END),
        element('rect', { x: left, y: y - BAR_PX / 2, width: length, height: BAR_PX, rx: 2, fill: color }),
        textAt(left + length + 6, y, ends[at] ?? '', { fill: 'var(--text)' }),
      ];
    }),
  );
}

interface StackedBar {
  readonly name: string;
  readonly segments: readonly { readonly series: string; readonly value: number }[];
}

/** One stacked bar per row, with segments in the order of the series. A segment shows its value if it is wide enough. */
export function stackedBars(
  texts: Texts,
  series: readonly (Series & { readonly onColor: string })[],
  bars: readonly StackedBar[],
): Html {
  const totals = bars.map(({ segments }) => segments.reduce((sum, { value }) => sum + value, 0));
  const most = Math.max(1, ...totals);
  const left = namesWidth(bars.map(({ name }) => name));
  let legendX = 0;
  const legend = series.map(({ name, color }) => {
    const x = legendX;
    const shown = shorten(name, NAME_LENGTH);
    legendX += textWidth(shown) + 34;
    return [element('rect', { x, y: 7, width: 10, height: 10, fill: color }), textAt(x + 16, 12, shown)];
  });
  return chart(texts, bars.length * 34 + 36, (width) => [
    legend,
    bars.map(({ name, segments }, at) => {
      const y = 47 + 34 * at;
      let x = left;
      const drawn = series.flatMap(({ name: one, color, onColor }) =>
        segments
          .filter((segment) => segment.series === one)
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
        textAt(left - 9, y, shorten(name, NAME_LENGTH), END),
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
    const line = { x1: 4, x2: width - 4, y1: bottom, y2: bottom, stroke: 'var(--dim)' };
    return [
      weeks.map(({ monday, value }, at) => {
        const x = 4 + band * at;
        const tall = (value / most) * (bottom - top);
        const unfinished = { 'fill-opacity': 0.35, stroke: 'var(--warn)', 'stroke-dasharray': '4,3' };
        const fill = { fill: 'var(--warn)', rx: 2, ...(at === 0 ? unfinished : {}) };
        return [
          stackedColumn(x + band * 0.1, band * 0.8, bottom, [{ height: tall, ...fill }]),
          textAt(x + band / 2, bottom - tall - 9, formatCount(value), { ...MIDDLE, fill: 'var(--text)' }),
          at % every === 0 && textAt(x + band / 2, bottom + 14, formatShortDay(monday), MIDDLE),
        ];
      }),
      element('line', line),
    ];
  });
}
