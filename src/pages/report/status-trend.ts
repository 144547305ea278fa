/** How many were in each status, day by day, of what the service tells only as it stands now. */
import type { Html } from '../html.ts';
import type { Series } from './chart-parts.ts';
import type { Pen } from './draw.ts';
import { empty } from './section.ts';
import { type DayValue, trend } from './time-charts.ts';
import { formatDay } from './words.ts';

export interface StatusTrend {
  readonly title: string;
  /** What shows the present counts, above the trend. */
  readonly countsStandIn: 'chart' | 'table';
  readonly series: readonly Series[];
  /** By day. */
  readonly values: readonly DayValue[];
}

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
