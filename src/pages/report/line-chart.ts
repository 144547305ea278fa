/** Lines over time. The drawing stretches to any width; its texts are beside it, so that they keep their size. */
import { formatCount } from '../../shared/format.ts';
import { html, type Html } from '../html.ts';
import { dayAfter, dayNumber, formatDay } from '../words.ts';

type Point = readonly [day: string, value: number];
type Line = readonly [name: string, color: 'accent' | 'bad' | 'good' | 'warn', points: readonly Point[]];

/** Rounds to a tenth. */
const round = (value: number): number => Math.round(value * 10) / 10;

interface ChartOptions {
  /** Values are percents. */
  readonly isShare?: boolean;
  readonly note?: string;
}

/** null: there are no two days. */
export function lineChart(
  title: string,
  lines: readonly Line[],
  { isShare = false, note }: ChartOptions = {},
): Html | null {
  const points = lines.flatMap(([, , of]) => of);
  const days = points.map(([day]) => dayNumber(day));
  const [first, last] = [Math.min(...days), Math.max(...days)];
  if (days.length === 0 || first === last) return null;
  const most = isShare ? 100 : Math.max(1, ...points.map(([, value]) => value));
  const format = (value: number): string => (isShare ? `${Math.round(value)}\u00a0%` : formatCount(value));
  const dayOf = (at: number): string => formatDay(dayAfter('1970-01-01', at));
  const xOf = (day: string): number => round((1000 * (dayNumber(day) - first)) / (last - first));
  const yOf = (value: number): number => round(200 - (200 * value) / most);
  const drawn = lines.map(([, color, of]) => {
    const d = of.map(([day, value], at) => `${at === 0 ? 'M' : 'L'}${xOf(day)},${yOf(value)}`).join('');
    return html`<path d="${d}" stroke="var(--${color})" stroke-width="2" />`;
  });
  const key = lines.map(([name, color, of]) => {
    const value = of.at(-1)?.[1];
    return html`<span
      ><i style="background:var(--${color})"></i>${name}: ${value === undefined ? '–' : format(value)}</span
    >`;
  });
  const label = `${title}, from ${dayOf(first)} to ${dayOf(last)}`;
  return html`<figure>
    <figcaption>${title}</figcaption>
    <p class="key">${key}</p>
    <div class="plot">
      <span>${format(most)}</span>
      <svg role="img" aria-label="${label}" viewBox="0 0 1000 200" preserveAspectRatio="none">
        <path d="M0,0H1000M0,100H1000M0,200H1000" stroke="var(--line)" />
        ${drawn}
      </svg>
    </div>
    <p class="ends"><span>${dayOf(first)}</span><span>${dayOf(last)}</span></p>
    ${note !== undefined && html`<p class="note">${note}</p>`}
  </figure>`;
}
