/** Line and area charts over time. Colours are variables of the page's style; labels are placed at their lines. */
import { type Html, html } from '../html.ts';
import { formatCount } from '../../shared/format.ts';
import {
  stackedColumn,
  countAxis,
  element,
  chart,
  NAME_LENGTH,
  round,
  type Series,
  type Texts,
  textAt,
  textWidth,
} from '../chart-kit.ts';
import { dayAfter, dayNumber, formatDay, formatMonth, formatShortDay, shorten } from '../words.ts';

const LINE_PX = 16;
const MIDDLE = { 'text-anchor': 'middle' };
/** Width of a day or month below a time axis. */
const TICK_PX = 64;

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

type TickRule = readonly [isTick: (day: string) => boolean, format: (day: string) => string];

const isMonth = (day: string, every: number): boolean =>
  day.endsWith('-01') && (Number(day.slice(5, 7)) - 1) % every === 0;

/** An axis of more days names months with their years. */
const MOST_SHORT_DAYS = 300;

/** Days, Mondays, each second Monday (day 4 of 1970 is one), months, quarters, years. */
const TICK_RULES: readonly TickRule[] = [
  [() => true, formatShortDay],
  [(day) => dayNumber(day) % 7 === 4, formatShortDay],
  [(day) => dayNumber(day) % 14 === 4, formatShortDay],
  [(day) => isMonth(day, 1), formatMonth],
  [(day) => isMonth(day, 3), formatMonth],
  [(day) => isMonth(day, 12), formatMonth],
];

interface DayTick {
  readonly day: string;
  readonly text: string;
  readonly anchor: 'start' | 'middle' | 'end';
}

/** The days below an axis: as many as have room, at least the ends. */
function dayTicks(first: string, last: string, most: number): DayTick[] {
  const days = Array.from({ length: dayNumber(last) - dayNumber(first) + 1 }, (_, at) => dayAfter(first, at));
  const found = TICK_RULES.map(([isTick, format]) =>
    days.filter(isTick).map((day) => ({ day, text: format(day), anchor: 'middle' as const })),
  ).find(({ length }) => length <= most);
  if (found !== undefined && found.length > 1) return found;
  const format = days.length > MOST_SHORT_DAYS ? formatMonth : formatShortDay;
  return [
    { day: first, text: format(first), anchor: 'start' },
    { day: last, text: format(last), anchor: 'end' },
  ];
}

/** Least width of the current day in the drawing, px. */
const TODAY_PX = 9;
const UNFINISHED = { 'fill-opacity': 0.4, 'stroke-dasharray': '3,2', 'stroke-width': 1.2 };

/**
 * Counts per day, stacked, with the first series at the bottom. The current day is incomplete: it is drawn separately,
 * dashed, with its present counts.
 */
export function trend(texts: Texts, series: readonly Series[], values: readonly DayValue[]): Html {
  const days = [...new Set(values.map(({ date }) => date))].toSorted();
  const [first = '', last = ''] = [days[0], days.at(-1)];
  const counts = new Map<string, number>();
  for (const { date, series: name, value } of values) counts.set(`${date} ${name}`, value);
  const countOf = (date: string, name: string): number => counts.get(`${date} ${name}`) ?? 0;
  const known = series.filter(({ name }) => days.some((date) => countOf(date, name) > 0));
  /** Sums of the first series, from 0 to all of them. */
  const sumsOf = (date: string): number[] => {
    let sum = 0;
    return [0, ...known.map(({ name }) => (sum += countOf(date, name)))];
  };
  const sums = days.map(sumsOf);
  const most = Math.max(1, ...sums.map((one) => one.at(-1) ?? 0));
  const [height, top, bottom] = [230, 14, 196];
  const yOf = (value: number): number => bottom - (value / most) * (bottom - top);
  const left = Math.max(44, textWidth(formatCount(most)) + 14);
  const labels = known.map(({ name }) => `${formatCount(countOf(last, name))} ${shorten(name, NAME_LENGTH)}`);
  const today = sumsOf(last);
  const labelHeights = spread(
    known.map((_, at) => bottom - yOf(((today[at] ?? 0) + (today[at + 1] ?? 0)) / 2)),
    LINE_PX,
  );
  return chart(texts, height, (width) => {
    const right = width - Math.max(0, ...labels.map(textWidth)) - 12;
    const span = dayNumber(last) - dayNumber(first);
    const perDay = Math.min((right - left) / (span + 1), (right - left - TODAY_PX) / Math.max(1, span));
    const xOf = (day: string): number => left + (dayNumber(day) - dayNumber(first)) * perDay;
    /** Each day extends to the next one, the last complete day to today. */
    const areaOf = (at: number): string => {
      const stepTo = (index: number, to: number, edge: number): string =>
        `V${round(yOf(sums[index]?.[edge] ?? 0))}H${round(xOf(days[to] ?? last))}`;
      const upper = days.slice(0, -1).map((_, index) => stepTo(index, index + 1, at + 1));
      const lower = days.slice(0, -1).map((_, index) => stepTo(index, index, at));
      return `M${round(xOf(first))},${round(yOf(0))}${upper.join('')}${lower.toReversed().join('')}Z`;
    };
    return [
      countAxis({ from: left, to: right, most, yOf }),
      known.map(({ color }, at) => element('path', { d: areaOf(at), fill: color })),
      stackedColumn(
        xOf(last),
        right - xOf(last),
        bottom,
        known.map(({ name, color: fill }) => ({
          height: bottom - yOf(countOf(last, name)),
          ...{ fill, stroke: fill, ...UNFINISHED },
        })),
      ),
      dayTicks(first, last, Math.floor((right - left) / TICK_PX)).map(({ day, text, anchor }) =>
        textAt(anchor === 'end' ? right : xOf(day), bottom + 14, text, { 'text-anchor': anchor }),
      ),
      labels.map((text, at) =>
        textAt(right + 8, bottom - (labelHeights[at] ?? 0), text, { fill: 'var(--text)' }),
      ),
    ];
  });
}

interface StatusTrend {
  readonly title: string;
  readonly series: readonly Series[];
  /** By day. */
  readonly values: readonly DayValue[];
}

/** Statuses by day, for values that the service only sends as of now. */
export function statusTrend({ title, series, values }: StatusTrend): Html {
  if (new Set(values.map(({ date }) => date)).size <= 1) {
    return html`<p class="note">
      The service sends only the present state, so the trend begins on the second day.
    </p>`;
  }
  const from = formatDay(values[0]?.date ?? null);
  const to = formatDay(values.at(-1)?.date ?? null);
  const label = `From ${from} to ${to}; the present counts are in the chart above.`;
  return html`<h3>Trend</h3>
    ${trend({ title, label, note: TODAY_NOTE }, series, values)}`;
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
export function monthLine(texts: Texts, { months, format, most: given }: MonthLineOptions): Html {
  const most = given ?? Math.max(1, ...months.map(({ value }) => value));
  const firstDay = dayNumber(months[0]?.month ?? '1970-01-01');
  const span = Math.max(1, dayNumber(months.at(-1)?.month ?? '1970-01-01') - firstDay);
  const [height, top, bottom, left, right] = [200, 18, 166, 44, 30];
  const yOf = (value: number): number => bottom - (value / most) * (bottom - top);
  const finished = months.filter(({ isUnfinished }) => !isUnfinished);
  const last = finished.at(-1);
  const rest = [...(last === undefined ? [] : [last]), ...months.filter(({ isUnfinished }) => isUnfinished)];
  return chart(texts, height, (width) => {
    const to = width - right;
    const xOf = ({ month }: MonthValue): number =>
      left + ((dayNumber(month) - firstDay) / span) * (to - left);
    const every = Math.ceil(months.length / Math.floor((to - left) / TICK_PX));
    const line = (points: readonly MonthValue[], attributes: Record<string, string | number>): Html =>
      element('path', {
        d: points
          .map((one, at) => `${at === 0 ? 'M' : 'L'}${round(xOf(one))},${round(yOf(one.value))}`)
          .join(''),
        fill: 'none',
        stroke: 'var(--accent)',
        ...attributes,
      });
    const label = (point: MonthValue): Html => {
      const { textAnchor, dx, dy } = placeBeside(finished.at(-2)?.value, point.value, rest[1]?.value);
      const outline = { stroke: 'var(--card)', 'stroke-width': 4, 'paint-order': 'stroke' };
      return textAt(xOf(point) + dx, yOf(point.value) + dy, format(point.value), {
        ...{ 'text-anchor': textAnchor, 'font-weight': 600, fill: 'var(--text)', ...outline },
      });
    };
    return [
      countAxis({ from: left, to, most, yOf }),
      months.map(
        (one, at) => at % every === 0 && textAt(xOf(one), bottom + 14, formatMonth(one.month), MIDDLE),
      ),
      line(finished, { 'stroke-width': 2 }),
      line(rest, { 'stroke-width': 1.6, 'stroke-dasharray': '3,4' }),
      months.map((one) =>
        element('circle', {
          cx: xOf(one),
          cy: yOf(one.value),
          r: 2.8,
          stroke: 'var(--accent)',
          'stroke-width': 1.5,
          fill: one.isUnfinished ? 'var(--card)' : 'var(--accent)',
        }),
      ),
      last !== undefined && label(last),
    ];
  });
}
