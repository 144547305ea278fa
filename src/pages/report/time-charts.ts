/** What moves over time. Colours are variables of the page's style; labels stand at what they name. */
import type { Html } from '../html.ts';
import { formatCount } from '../../shared/format.ts';
import { formatDay, shorten, toDate } from '../words.ts';
import { CHARACTER_PX, HALF, NAME_LENGTH, type Pen, type Series, type Texts, WIDE } from './draw.ts';
import { empty } from './section.ts';

const LINE_PX = 16;

export interface DayValue {
  readonly date: string;
  readonly series: string;
  readonly value: number;
}

/** Moves labels apart where they would stand on each other; `positions` ascend. */
export function spread(positions: readonly number[], gap: number): number[] {
  const moved: number[] = [];
  for (const position of positions) moved.push(Math.max(position, (moved.at(-1) ?? -Infinity) + gap));
  return moved;
}

/** Counts per day, stacked; the first series lies at the bottom. At the right each says how many it is now. */
export function trend(pen: Pen, texts: Texts, series: readonly Series[], values: readonly DayValue[]): Html {
  const { plot } = pen;
  const days = [...new Set(values.map(({ date }) => date))].toSorted();
  const last = days.at(-1) ?? '';
  const known = series.filter(({ name }) => values.some((one) => one.series === name && one.value > 0));
  const totals = new Map<string, number>();
  for (const { date, value } of values) totals.set(date, (totals.get(date) ?? 0) + value);
  const most = Math.max(1, ...totals.values());
  const height = 230;
  const margins = { marginTop: 14, marginBottom: 34, marginLeft: 44 };
  const perPx = most / (height - margins.marginTop - margins.marginBottom);
  let below = 0;
  const middles = known.map(({ name }) => {
    const now = values.find((one) => one.date === last && one.series === name)?.value ?? 0;
    below += now;
    return { text: `${formatCount(now)} ${shorten(name, NAME_LENGTH)}`, y: below - now / 2 };
  });
  const heights = spread(
    middles.map(({ y }) => y),
    LINE_PX * perPx,
  );
  const labels = middles.map((one, at) => ({ text: one.text, date: toDate(last), y: heights[at] ?? one.y }));
  const room = Math.max(...labels.map(({ text }) => text.length)) * CHARACTER_PX + 12;
  const points = values
    .filter((one) => known.some(({ name }) => name === one.series))
    .map((one) => ({ ...one, date: toDate(one.date) }));
  return pen.figure(texts, WIDE, (width) => ({
    width,
    height,
    ...margins,
    marginRight: room,
    x: { type: 'utc', label: null, ticks: width > HALF ? 8 : 3, tickSize: 0 },
    y: { domain: [0, most], label: null, ticks: 4, tickSize: 0, grid: true, tickFormat: formatCount },
    color: { type: 'ordinal', domain: known.map(({ name }) => name), range: known.map(({ color }) => color) },
    marks: [
      plot.areaY(
        points,
        plot.stackY(
          { order: known.map(({ name }) => name) },
          { x: 'date', y: 'value', fill: 'series', stroke: 'var(--card)', strokeWidth: 0.6 },
        ),
      ),
      plot.ruleY([0], { stroke: 'var(--dim)' }),
      plot.text(labels, { x: 'date', y: 'y', text: 'text', textAnchor: 'start', dx: 8, fill: 'var(--text)' }),
    ],
  }));
}

export interface StatusTrend {
  readonly title: string;
  /** What shows the present counts, above the trend. */
  readonly countsStandIn: 'chart' | 'table';
  readonly series: readonly Series[];
  /** By day. */
  readonly values: readonly DayValue[];
}

/** How many were in each status, day by day, of what the service tells only as it stands now. */
export function statusTrend(pen: Pen, { title, countsStandIn, series, values }: StatusTrend): Html {
  const from = formatDay(values[0]?.date ?? null);
  if (new Set(values.map(({ date }) => date)).size <= 1) {
    return empty(
      `The service tells only how it stands now. The trend is kept here since the first sync, ${from}, and shows from the second day on.`,
    );
  }
  const to = formatDay(values.at(-1)?.date ?? null);
  const label = `From ${from} to ${to}; the present counts stand in the ${countsStandIn} above.`;
  return trend(pen, { title, label }, series, values);
}

export interface MonthValue {
  readonly month: string;
  readonly value: number;
}

/** One value a month, with the last one and the highest one named. */
export function monthLine(pen: Pen, texts: Texts, months: readonly MonthValue[], unit: string): Html {
  const { plot } = pen;
  const points = months.map(({ month, value }) => ({ date: toDate(month), value }));
  const last = points.at(-1);
  const label = last === undefined ? '' : `${Math.round(last.value * 10) / 10} ${unit}`;
  return pen.figure(texts, WIDE, (width) => ({
    width,
    height: 200,
    marginTop: 16,
    marginBottom: 34,
    marginLeft: 44,
    marginRight: label.length * CHARACTER_PX + 16,
    x: { type: 'utc', label: null, ticks: width > HALF ? 8 : 3, tickSize: 0 },
    y: {
      domain: [0, Math.max(1, ...points.map(({ value }) => value))],
      label: null,
      ticks: 4,
      tickSize: 0,
      grid: true,
    },
    marks: [
      plot.ruleY([0], { stroke: 'var(--dim)' }),
      plot.lineY(points, { x: 'date', y: 'value', stroke: 'var(--accent)', strokeWidth: 2 }),
      plot.dot(points, { x: 'date', y: 'value', fill: 'var(--accent)', r: 2.6 }),
      plot.text(last === undefined ? [] : [last], {
        x: 'date',
        y: 'value',
        text: () => label,
        textAnchor: 'start',
        dx: 8,
        fill: 'var(--text)',
      }),
    ],
  }));
}
