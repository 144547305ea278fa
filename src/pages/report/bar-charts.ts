/** Bar charts that compare values. Each bar shows its value. */
import type { Html } from '../html.ts';
import { formatCount } from '../../shared/format.ts';
import { formatShortDay, shorten, toDate } from '../words.ts';
import {
  CHARACTER_PX,
  HALF,
  NAME_LENGTH,
  type ChartRenderer,
  type Series,
  type Texts,
  WIDE,
} from './draw.ts';

interface Bar {
  readonly label: string;
  readonly value: number;
  readonly color: string;
  /** Shown after the value. */
  readonly remark?: string;
}

/** Horizontal bars with their values at the ends. */
export function bars(renderer: ChartRenderer, texts: Texts, rows: readonly Bar[]): Html {
  const { plot } = renderer;
  const named = rows.map((row, at) => ({
    ...row,
    key: String(at),
    text: `${formatCount(row.value)}${row.remark === undefined ? '' : ` (${row.remark})`}`,
  }));
  const left = Math.max(...rows.map(({ label }) => Math.min(label.length, NAME_LENGTH))) * CHARACTER_PX + 14;
  const right = Math.max(...named.map(({ text }) => text.length)) * CHARACTER_PX + 10;
  return renderer.figure(texts, WIDE, (width) => ({
    width,
    height: rows.length * 32 + 8,
    marginLeft: left,
    marginRight: right,
    marginTop: 4,
    marginBottom: 4,
    x: { axis: null, domain: [0, Math.max(1, ...rows.map(({ value }) => value))] },
    y: {
      type: 'band',
      label: null,
      domain: named.map(({ key }) => key),
      tickFormat: (key: string) => shorten(rows[Number(key)]?.label ?? '', NAME_LENGTH),
      tickSize: 0,
      padding: 0.28,
    },
    marks: [
      plot.barX(named, { x: 'value', y: 'key', fill: 'color', rx: 2 }),
      plot.text(named, {
        x: 'value',
        y: 'key',
        text: 'text',
        textAnchor: 'start',
        dx: 6,
        fill: 'var(--text)',
      }),
    ],
    color: { type: 'identity' },
  }));
}

interface Part {
  readonly row: string;
  readonly series: string;
  readonly value: number;
}

/** One stacked bar per row, with segments in the order of the series. A segment shows its value if it is wide enough. */
export function stackedBars(
  renderer: ChartRenderer,
  texts: Texts,
  series: readonly (Series & { readonly onColor: string })[],
  parts: readonly Part[],
): Html {
  const { plot } = renderer;
  const keys = [...new Set(parts.map(({ row }) => row))];
  const totals = keys.map((key) => ({
    key,
    total: parts.filter(({ row }) => row === key).reduce((sum, { value }) => sum + value, 0),
  }));
  const most = Math.max(1, ...totals.map(({ total }) => total));
  const left = Math.max(...keys.map((key) => Math.min(key.length, NAME_LENGTH))) * CHARACTER_PX + 14;
  const order = series.map(({ name }) => name);
  const stack = plot.stackX({ order }, { x: 'value', y: 'row', fill: 'series' });
  return renderer.figure(texts, WIDE, (width) => {
    const room = width - left - 60;
    const lies = (part: Part) => part.value / most > (String(part.value).length * CHARACTER_PX + 8) / room;
    return {
      width,
      height: keys.length * 34 + 36,
      marginLeft: left,
      marginRight: 60,
      marginTop: 30,
      marginBottom: 4,
      x: { axis: null, domain: [0, most] },
      y: {
        type: 'band',
        label: null,
        domain: keys,
        tickFormat: (key: string) => shorten(key, NAME_LENGTH),
        tickSize: 0,
        padding: 0.26,
      },
      color: { type: 'ordinal', domain: order, range: series.map(({ color }) => color) },
      marks: [
        plot.barX(parts, { ...stack, stroke: 'var(--card)', strokeWidth: 1 }),
        ...series.map(({ name, onColor }) =>
          plot.textX(
            parts,
            plot.stackX(
              { order },
              {
                x: 'value',
                y: 'row',
                z: 'series',
                text: (part: Part) => (part.series === name && lies(part) ? formatCount(part.value) : ''),
                fill: onColor,
              },
            ),
          ),
        ),
        plot.text(totals, {
          x: 'total',
          y: 'key',
          text: ({ total }: { total: number }) => formatCount(total),
          textAnchor: 'start',
          dx: 6,
          fill: 'var(--dim)',
        }),
        // The legend, in the order of the segments.
        ...series.flatMap(({ name, color }, at) => {
          const x = order
            .slice(0, at)
            .reduce((sum, one) => sum + Math.min(one.length, NAME_LENGTH) * CHARACTER_PX + 34, 0);
          return [
            plot.dot([0], {
              frameAnchor: 'top-left',
              symbol: 'square',
              r: 5,
              fill: color,
              dx: x + 5 - left,
              dy: -18,
            }),
            plot.text([shorten(name, NAME_LENGTH)], {
              frameAnchor: 'top-left',
              textAnchor: 'start',
              lineAnchor: 'middle',
              dx: x + 16 - left,
              dy: -17,
              fill: 'var(--dim)',
            }),
          ];
        }),
      ],
    };
  });
}

interface Week {
  /** The Monday of the week. */
  readonly monday: string;
  readonly value: number;
}

/** One column per week; the current week is dashed, because it is incomplete. */
export function weekColumns(renderer: ChartRenderer, texts: Texts, weeks: readonly Week[]): Html {
  const { plot } = renderer;
  const [running, ...ahead] = weeks;
  const nameOf = (monday: string): string => formatShortDay(toDate(monday));
  return renderer.figure(texts, WIDE, (width) => ({
    width,
    height: 180,
    marginTop: 18,
    marginBottom: 30,
    marginLeft: 4,
    marginRight: 4,
    x: {
      type: 'band',
      domain: weeks.map(({ monday }) => monday),
      label: null,
      tickSize: 0,
      padding: 0.2,
      tickFormat: (monday: string, at: number) => (width > HALF || at % 4 === 0 ? nameOf(monday) : ''),
    },
    y: { axis: null, domain: [0, Math.max(1, ...weeks.map(({ value }) => value))] },
    marks: [
      plot.barY(ahead, { x: 'monday', y: 'value', fill: 'var(--warn)', rx: 2 }),
      plot.barY(running === undefined ? [] : [running], {
        x: 'monday',
        y: 'value',
        fill: 'var(--warn)',
        fillOpacity: 0.35,
        stroke: 'var(--warn)',
        strokeDasharray: '4,3',
        rx: 2,
      }),
      plot.ruleY([0], { stroke: 'var(--dim)' }),
      plot.text(weeks, {
        x: 'monday',
        y: 'value',
        text: ({ value }: Week) => formatCount(value),
        dy: -9,
        fill: 'var(--text)',
      }),
    ],
  }));
}
