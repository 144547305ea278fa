/** Line and area charts over time. Colours are variables of the page's style; labels are placed at their lines. */
import { type Html, html } from '../html.ts';
import { formatCount } from '../../shared/format.ts';
import { DAY_MS } from '../../shared/time.ts';
import { formatDay, formatMonth, shorten, toDate } from '../words.ts';
import {
  CHARACTER_PX,
  HALF,
  NAME_LENGTH,
  type ChartRenderer,
  type Series,
  type Texts,
  WIDE,
} from './draw.ts';

const LINE_PX = 16;

/** The note below a trend. */
export const TODAY_NOTE = 'Dashed: today, which is not over.';

interface DayValue {
  readonly date: string;
  readonly series: string;
  readonly value: number;
}

/** Moves overlapping labels apart; `positions` ascend. */
export function spread(positions: readonly number[], gap: number): number[] {
  const moved: number[] = [];
  for (const position of positions) moved.push(Math.max(position, (moved.at(-1) ?? -Infinity) + gap));
  return moved;
}

const widthOf = (text: string): number => text.length * CHARACTER_PX;

/** Least width of the current day in the drawing, px. */
const TODAY_PX = 9;
const UNFINISHED = { fillOpacity: 0.4, strokeDasharray: '3,2', strokeWidth: 1.2 } as const;

/**
 * Counts per day, stacked, with the first series at the bottom. The current day is incomplete: it is drawn separately,
 * dashed, with its present counts.
 */
export function trend(
  renderer: ChartRenderer,
  texts: Texts,
  series: readonly Series[],
  values: readonly DayValue[],
): Html {
  const { plot } = renderer;
  const days = [...new Set(values.map(({ date }) => date))].toSorted();
  const [first = '', last = ''] = [days[0], days.at(-1)];
  const known = series.filter(({ name }) => values.some((one) => one.series === name && one.value > 0));
  const totals = new Map<string, number>();
  for (const { date, value } of values) totals.set(date, (totals.get(date) ?? 0) + value);
  const most = Math.max(1, ...totals.values());
  const height = 230;
  const margins = {
    marginTop: 14,
    marginBottom: 34,
    marginLeft: Math.max(44, widthOf(formatCount(most)) + 14),
  };
  const perPx = most / (height - margins.marginTop - margins.marginBottom);
  let below = 0;
  const today = known.map(({ name }) => {
    const now = values.find((one) => one.date === last && one.series === name)?.value ?? 0;
    below += now;
    return {
      series: name,
      text: `${formatCount(now)} ${shorten(name, NAME_LENGTH)}`,
      from: below - now,
      to: below,
      middle: below - now / 2,
    };
  });
  const heights = spread(
    today.map(({ middle }) => middle),
    LINE_PX * perPx,
  );
  const room = Math.max(...today.map(({ text }) => widthOf(text))) + 12;
  // Each day extends to the beginning of the next one, the last complete day to today.
  const over = values
    .filter((one) => one.date !== last && known.some(({ name }) => name === one.series))
    .map((one) => ({ ...one, date: toDate(one.date) }));
  const yesterday = days.at(-2) ?? '';
  const closing = values
    .filter((one) => one.date === yesterday && known.some(({ name }) => name === one.series))
    .map((one) => ({ ...one, date: toDate(last) }));
  return renderer.figure(texts, WIDE, (width) => {
    const perDay = (width - margins.marginLeft - room) / Math.max(1, days.length);
    const end = new Date(toDate(last).getTime() + Math.max(1, TODAY_PX / perDay) * DAY_MS);
    const labels = today.map(({ text, middle }, at) => ({ text, date: end, y: heights[at] ?? middle }));
    return {
      width,
      height,
      ...margins,
      marginRight: room,
      x: {
        type: 'utc',
        label: null,
        // For a few days Plot would label hours.
        ticks: days.length < 8 ? 'day' : width > HALF ? 8 : 3,
        tickSize: 0,
        domain: [toDate(first), end],
      },
      y: { domain: [0, most], label: null, ticks: 4, tickSize: 0, grid: true, tickFormat: formatCount },
      color: {
        type: 'ordinal',
        domain: known.map(({ name }) => name),
        range: known.map(({ color }) => color),
      },
      marks: [
        plot.areaY(
          [...over, ...closing],
          plot.stackY(
            { order: known.map(({ name }) => name) },
            { x: 'date', y: 'value', fill: 'series', curve: 'step-after' },
          ),
        ),
        plot.rect(today, {
          x1: () => toDate(last),
          x2: () => end,
          y1: 'from',
          y2: 'to',
          fill: 'series',
          stroke: 'series',
          ...UNFINISHED,
        }),
        plot.ruleY([0], { stroke: 'var(--dim)' }),
        plot.text(labels, {
          x: 'date',
          y: 'y',
          text: 'text',
          textAnchor: 'start',
          dx: 8,
          fill: 'var(--text)',
        }),
      ],
    };
  });
}

interface StatusTrend {
  readonly title: string;
  readonly series: readonly Series[];
  /** By day. */
  readonly values: readonly DayValue[];
}

/** Statuses by day, for values that the service only sends as of now. */
export function statusTrend(renderer: ChartRenderer, { title, series, values }: StatusTrend): Html {
  if (new Set(values.map(({ date }) => date)).size <= 1) {
    return html`<p class="note">
      The service sends only the present state, so the trend begins on the second day.
    </p>`;
  }
  const from = formatDay(values[0]?.date ?? null);
  const to = formatDay(values.at(-1)?.date ?? null);
  const label = `From ${from} to ${to}; the present counts are in the chart above.`;
  return html`<h3>Trend</h3>
    ${trend(renderer, { title, label, note: TODAY_NOTE }, series, values)}`;
}

interface MonthValue {
  readonly month: string;
  readonly value: number;
  /** Incomplete: later data will change the value. */
  readonly isUnfinished: boolean;
}

interface MonthLineOptions {
  readonly months: readonly MonthValue[];
  readonly format: (value: number) => string;
  /** Upper bound of the scale. Default: the highest value. */
  readonly most?: number;
}

/** Chooses the side of a line that leaves space for a label, from the values before and after. */
export function placeBeside(
  before: number | undefined,
  value: number,
  after: number | undefined,
): { readonly textAnchor: 'start' | 'middle' | 'end'; readonly dx: number; readonly dy: number } {
  const [falls, rises] = [(before ?? value) > value, (after ?? value) > value];
  if (falls && after !== undefined && !rises) return { textAnchor: 'start', dx: 6, dy: -10 };
  if (falls) return { textAnchor: 'middle', dx: 0, dy: 14 };
  return rises ? { textAnchor: 'end', dx: -6, dy: -10 } : { textAnchor: 'middle', dx: 0, dy: -12 };
}

/** One value per month; the last complete month is labelled, incomplete ones are dashed. */
export function monthLine(
  renderer: ChartRenderer,
  texts: Texts,
  { months, format, most }: MonthLineOptions,
): Html {
  const { plot } = renderer;
  const points = months.map((one) => ({ ...one, date: toDate(one.month) }));
  const finished = points.filter(({ isUnfinished }) => !isUnfinished);
  const last = finished.at(-1);
  const rest = [...(last === undefined ? [] : [last]), ...points.filter(({ isUnfinished }) => isUnfinished)];
  /** Labels each month; for longer ranges Plot chooses the ticks, which would be days for short ones. */
  const namesOf = (most: number) => {
    const every = Math.ceil(points.length / most);
    if (points.length > 8) return { ticks: most };
    return {
      ticks: points.flatMap(({ date }, at) => (at % every === 0 ? [date] : [])),
      tickFormat: (date: Date) => formatMonth(date.toISOString()),
    };
  };
  return renderer.figure(texts, WIDE, (width) => ({
    width,
    height: 200,
    marginTop: 18,
    marginBottom: 34,
    marginLeft: 44,
    marginRight: 30,
    x: { type: 'utc', label: null, tickSize: 0, ...namesOf(width > HALF ? 8 : 3) },
    y: {
      domain: [0, most ?? Math.max(1, ...points.map(({ value }) => value))],
      label: null,
      ticks: 4,
      tickSize: 0,
      grid: true,
    },
    marks: [
      plot.ruleY([0], { stroke: 'var(--dim)' }),
      plot.lineY(finished, { x: 'date', y: 'value', stroke: 'var(--accent)', strokeWidth: 2 }),
      plot.lineY(rest, {
        x: 'date',
        y: 'value',
        stroke: 'var(--accent)',
        strokeWidth: 1.6,
        strokeDasharray: '3,4',
      }),
      plot.dot(points, {
        x: 'date',
        y: 'value',
        stroke: 'var(--accent)',
        fill: ({ isUnfinished }: MonthValue) => (isUnfinished ? 'var(--card)' : 'var(--accent)'),
        r: 2.8,
      }),
      plot.text(last === undefined ? [] : [last], {
        x: 'date',
        y: 'value',
        text: ({ value }: MonthValue) => format(value),
        ...placeBeside(finished.at(-2)?.value, last?.value ?? 0, rest[1]?.value),
        fontWeight: 600,
        stroke: 'var(--card)',
        strokeWidth: 4,
        fill: 'var(--text)',
      }),
    ],
    color: { type: 'identity' },
  }));
}
