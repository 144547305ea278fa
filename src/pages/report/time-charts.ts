/** Charts over time: counts per day and values per month. The name of a series stands at the end of its line. */
import { formatCount } from '../../shared/format.ts';
import { type Attributes, element, round, stackedColumn, textAt } from '../chart-kit.ts';
import { type Html, html, type HtmlValue } from '../html.ts';
import { dayAfter, dayNumber, formatDay, formatMonth, formatShortDay } from '../words.ts';
import { chart, END, MIDDLE, type Series, shortName, TEXT, type Texts, textWidth } from './charts.ts';

const LINE_PX = 16;
/** Width of a day or month below a time axis. */
const TICK_PX = 64;

/** Round steps from 0 on, at most six. Counts have no fractions. */
function stepsTo(most: number): number[] {
  const least = Math.max(1, most / 5);
  const power = 10 ** Math.floor(Math.log10(least));
  const step = power * (least > 5 * power ? 10 : least > 2 * power ? 5 : least > power ? 2 : 1);
  return Array.from({ length: Math.floor(most / step) + 1 }, (_, at) => at * step);
}

/** Horizontal lines from `left` to `right` at round counts, with their values to the left. */
function countAxis(left: number, right: number, most: number, yOf: (value: number) => number): HtmlValue {
  return stepsTo(most).map((count) => {
    const y = yOf(count);
    const stroke = count === 0 ? 'var(--dim)' : 'var(--line)';
    return [
      element('line', { x1: left, x2: right, y1: y, y2: y, stroke }),
      textAt(left - 9, y, formatCount(count), END),
    ];
  });
}

/** Moves overlapping labels apart; `positions` ascend. */
export function spread(positions: readonly number[], gap: number): number[] {
  const moved: number[] = [];
  for (const position of positions) moved.push(Math.max(position, (moved.at(-1) ?? -Infinity) + gap));
  return moved;
}

const isMonth = (day: string, every: number): boolean =>
  day.endsWith('-01') && (Number(day.slice(5, 7)) - 1) % every === 0;

type TickRule = readonly [isTick: (day: string) => boolean, format: (day: string) => string];

/** Days, Mondays, each second Monday (day 4 of 1970 is one), months, quarters, years. */
const TICK_RULES: readonly TickRule[] = [
  [() => true, formatShortDay],
  [(day) => dayNumber(day) % 7 === 4, formatShortDay],
  [(day) => dayNumber(day) % 14 === 4, formatShortDay],
  [(day) => isMonth(day, 1), formatMonth],
  [(day) => isMonth(day, 3), formatMonth],
  [(day) => isMonth(day, 12), formatMonth],
];

/** An axis of more days names months with their years. */
const MOST_SHORT_DAYS = 300;

/** The days below an axis: as many as have room, at least the ends. */
function dayTicks(first: string, last: string, most: number) {
  const days = Array.from({ length: dayNumber(last) - dayNumber(first) + 1 }, (_, at) => dayAfter(first, at));
  const found = TICK_RULES.map(([isTick, format]) =>
    days.filter(isTick).map((day) => ({ day, text: format(day), anchor: 'middle' })),
  ).find(({ length }) => length <= most);
  if (found !== undefined && found.length > 1) return found;
  const format = days.length > MOST_SHORT_DAYS ? formatMonth : formatShortDay;
  return [
    { day: first, text: format(first), anchor: 'start' },
    { day: last, text: format(last), anchor: 'end' },
  ];
}

/** The note below a trend. */
export const TODAY_NOTE = 'Dashed: today, which is not over.';
/** Least width of the current day in the drawing, px. */
const TODAY_PX = 9;
const UNFINISHED = { 'fill-opacity': 0.4, 'stroke-dasharray': '3,2', 'stroke-width': 1.2 };

interface DayValue {
  readonly date: string;
  readonly series: string;
  readonly value: number;
}

/**
 * Counts per day, stacked, with the first series at the bottom. The current day is incomplete: it is drawn separately,
 * dashed, with its present counts.
 */
export function trend(texts: Texts, series: readonly Series[], values: readonly DayValue[]): Html {
  const days = [...new Set(values.map(({ date }) => date))].toSorted();
  const [first = '', last = ''] = [days[0], days.at(-1)];
  const counts = new Map(values.map(({ date, series: name, value }) => [`${date} ${name}`, value]));
  const countOf = (date: string, name: string): number => counts.get(`${date} ${name}`) ?? 0;
  const known = series.filter(({ name }) => values.some((one) => one.series === name && one.value > 0));
  /** By day the sums of the first series, from none to all of them. */
  const sums = days.map((date) => {
    let sum = 0;
    return [0, ...known.map(({ name }) => (sum += countOf(date, name)))];
  });
  const most = Math.max(1, ...sums.map((one) => one.at(-1) ?? 0));
  const [height, top, bottom] = [230, 14, 196];
  const yOf = (value: number): number => bottom - (value / most) * (bottom - top);
  const left = Math.max(44, textWidth(formatCount(most)) + 14);
  const labels = known.map(({ name }) => `${formatCount(countOf(last, name))} ${shortName(name)}`);
  const today = sums.at(-1) ?? [];
  const labelHeights = spread(
    known.map((_, at) => bottom - yOf(((today[at] ?? 0) + (today[at + 1] ?? 0)) / 2)),
    LINE_PX,
  );
  return chart(texts, height, (width) => {
    const right = width - Math.max(0, ...labels.map(textWidth)) - 12;
    const span = dayNumber(last) - dayNumber(first);
    const perDay = Math.min((right - left) / (span + 1), (right - left - TODAY_PX) / Math.max(1, span));
    const xOf = (day: string): number => left + (dayNumber(day) - dayNumber(first)) * perDay;
    /** Each complete day at its sum, up to the day in `ends`. */
    const edge = (level: number, ends: readonly string[]): string[] =>
      ends.map((end, at) => `V${round(yOf(sums[at]?.[level] ?? 0))}H${round(xOf(end))}`);
    /** Each day extends to the next one, the last complete day to today. */
    const areaOf = (level: number): string => {
      const upper = edge(level + 1, days.slice(1));
      const lower = edge(level, days.slice(0, -1)).toReversed();
      return `M${round(xOf(first))},${round(yOf(0))}${upper.join('')}${lower.join('')}Z`;
    };
    const present = known.map(({ name, color: fill }) => ({
      height: bottom - yOf(countOf(last, name)),
      ...{ fill, stroke: fill, ...UNFINISHED },
    }));
    return [
      countAxis(left, right, most, yOf),
      known.map(({ color: fill }, at) => element('path', { d: areaOf(at), fill })),
      stackedColumn(xOf(last), right - xOf(last), bottom, present),
      dayTicks(first, last, Math.floor((right - left) / TICK_PX)).map(({ day, text, anchor }) =>
        textAt(anchor === 'end' ? right : xOf(day), bottom + 14, text, { 'text-anchor': anchor }),
      ),
      labels.map((text, at) => textAt(right + 8, bottom - (labelHeights[at] ?? 0), text, TEXT)),
    ];
  });
}

/** Statuses by day, for values that the service only sends as of now. */
export function statusTrend(title: string, series: readonly Series[], values: readonly DayValue[]): Html {
  const [first, last] = [values[0]?.date ?? null, values.at(-1)?.date ?? null];
  if (first === last) {
    return html`<p class="note">
      The service sends only the present state, so the trend begins on the second day.
    </p>`;
  }
  const label = `From ${formatDay(first)} to ${formatDay(last)}; the present counts are in the chart above.`;
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
export function placeBeside(before: number | undefined, value: number, after: number | undefined) {
  const [falls, rises] = [(before ?? value) > value, (after ?? value) > value];
  if (falls && after !== undefined && !rises) return { anchor: 'start', dx: 6, dy: -10 };
  if (falls) return { anchor: 'middle', dx: 0, dy: 14 };
  return rises ? { anchor: 'end', dx: -6, dy: -10 } : { anchor: 'middle', dx: 0, dy: -12 };
}

/** One value per month; the last complete month is labelled, incomplete ones are dashed. */
export function monthLine(texts: Texts, { months, format, most: given }: MonthLineOptions): Html {
  const most = given ?? Math.max(1, ...months.map(({ value }) => value));
  const dayOf = (month: MonthValue | undefined): number => dayNumber(month?.month ?? '1970-01-01');
  const firstDay = dayOf(months[0]);
  const span = Math.max(1, dayOf(months.at(-1)) - firstDay);
  const [height, top, bottom, left, margin] = [200, 18, 166, 44, 30];
  const yOf = (value: number): number => bottom - (value / most) * (bottom - top);
  const finished = months.filter(({ isUnfinished }) => !isUnfinished);
  const last = finished.at(-1);
  const rest = [...finished.slice(-1), ...months.filter(({ isUnfinished }) => isUnfinished)];
  return chart(texts, height, (width) => {
    const right = width - margin;
    const xOf = (month: MonthValue): number => left + ((dayOf(month) - firstDay) / span) * (right - left);
    const every = Math.ceil(months.length / Math.floor((right - left) / TICK_PX));
    const line = (points: readonly MonthValue[], attributes: Attributes): Html => {
      const places = points.map((one) => `${round(xOf(one))},${round(yOf(one.value))}`);
      const d = places.length === 0 ? '' : `M${places.join('L')}`;
      return element('path', { d, fill: 'none', stroke: 'var(--accent)', ...attributes });
    };
    const label = (point: MonthValue): Html => {
      const { anchor, dx, dy } = placeBeside(finished.at(-2)?.value, point.value, rest[1]?.value);
      const outline = { stroke: 'var(--card)', 'stroke-width': 4, 'paint-order': 'stroke' };
      const style = { 'text-anchor': anchor, 'font-weight': 600, ...TEXT, ...outline };
      return textAt(xOf(point) + dx, yOf(point.value) + dy, format(point.value), style);
    };
    return [
      countAxis(left, right, most, yOf),
      months.map(
        (one, at) => at % every === 0 && textAt(xOf(one), bottom + 14, formatMonth(one.month), MIDDLE),
      ),
      line(finished, { 'stroke-width': 2 }),
      line(rest, { 'stroke-width': 1.6, 'stroke-dasharray': '3,4' }),
      months.map((one) => {
        const fill = one.isUnfinished ? 'var(--card)' : 'var(--accent)';
        const mark = { r: 2.8, stroke: 'var(--accent)', 'stroke-width': 1.5, fill };
        return element('circle', { cx: xOf(one), cy: yOf(one.value), ...mark });
      }),
      last !== undefined && label(last),
    ];
  });
}
