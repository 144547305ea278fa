/** The charts of the status page; its style gives them their colours by class. */
import { formatCount } from '../../shared/format.ts';
import { type Progress, RECENT_RUNS } from '../../operate/status/read-account-rows.ts';
import type { DayVolume } from '../../operate/status/read-volumes.ts';
import type { RunSummary } from '../../operate/status/account-detail.ts';
import { stackedColumn, drawing, element } from '../chart-kit.ts';
import type { Html } from '../html.ts';
import { clockTime, describeRun } from '../words.ts';

const RUN_WIDTH = 10;
const BAR_WIDTH = 7;
const UP = 34;
const DOWN = 16;

/** The height grows with the square root of the value, because a first sync of hours would flatten the other runs. */
function scaled(value: number, most: number, height: number): number {
  if (value <= 0 || most <= 0) return 0;
  return Math.max(1.5, (Math.sqrt(value) / Math.sqrt(most)) * height);
}

const changed = ({
  inserted,
  updated,
  deleted,
}: Pick<DayVolume, 'inserted' | 'updated' | 'deleted'>): number => inserted + updated + deleted;

const axis = (width: number, y: number): Html =>
  element('line', { class: 'axis', x1: 0, x2: width, y1: y, y2: y });

/** Invisible, so that the title appears wherever the pointer is in the column. */
const area = (x: number, width: number, height: number): Html =>
  element('rect', { x, y: 0, width, height, fill: 'transparent' });

/** Oldest run left. Upwards: duration, coloured by outcome. Downwards: changed rows. */
export function runsChart(runs: readonly RunSummary[], timezone: string): Html {
  const longestMs = Math.max(0, ...runs.map(({ durationMs }) => durationMs));
  const most = Math.max(0, ...runs.map(changed));
  const [width, height] = [RECENT_RUNS * RUN_WIDTH, UP + DOWN + 3];
  const bars = runs.map((run, index) => {
    const x = (RECENT_RUNS - runs.length + index) * RUN_WIDTH;
    const up = Math.max(2, scaled(run.durationMs, longestMs, UP));
    const down = scaled(changed(run), most, DOWN);
    return element(
      'g',
      {},
      element('title', {}, `${clockTime(run.startedMs, timezone)}: ${describeRun(run)}`),
      area(x, RUN_WIDTH, height),
      stackedColumn(x, BAR_WIDTH, UP, [{ class: run.status, height: up, rx: 1 }]),
      stackedColumn(x, BAR_WIDTH, UP + 3 + down, [{ class: 'rows', height: down, rx: 1 }]),
    );
  });
  const label = `The last ${runs.length} runs: duration upwards, changed rows downwards`;
  const attributes = { class: 'runs', preserveAspectRatio: 'none', height };
  return drawing(label, [width, height], attributes, axis(width, UP + 1.5), bars);
}

const DAY_WIDTH = 50;
const DAY_HEIGHT = 120;

export function daysChart(days: readonly DayVolume[]): Html {
  const most = Math.max(1, ...days.map(changed));
  const [width, height] = [Math.max(1, days.length) * DAY_WIDTH, DAY_HEIGHT + 36];
  const bars = days.map((day, index) => {
    const x = index * DAY_WIDTH + 6;
    const total = changed(day);
    const segments = (['inserted', 'updated', 'deleted'] as const).map((op) => ({
      class: op.slice(0, 3),
      height: total === 0 ? 0 : (day[op] / total) * scaled(total, most, DAY_HEIGHT),
    }));
    const text = `${day.day}: ${formatCount(day.inserted)} new, ${formatCount(day.updated)} changed, ${formatCount(day.deleted)} deleted, ${formatCount(day.failedRuns)} failed runs`;
    return element(
      'g',
      {},
      element('title', {}, text),
      area(x - 6, DAY_WIDTH, height),
      stackedColumn(x, DAY_WIDTH - 12, DAY_HEIGHT + 4, segments),
      element('text', { x: x + 19, y: DAY_HEIGHT + 19, 'text-anchor': 'middle' }, day.day.slice(8)),
      day.failedRuns > 0 && element('circle', { class: 'failed', cx: x + 19, cy: DAY_HEIGHT + 30, r: 4 }),
    );
  });
  return drawing(
    'Changed rows per day',
    [width, height],
    { class: 'chart' },
    axis(width, DAY_HEIGHT + 4),
    bars,
  );
}

/** A bar with the known share, or a faint full bar where the total is unknown. */
export function progressBar({ records, total }: Progress): Html {
  const share = total === null || total <= 0 ? null : Math.min(1, records / total);
  const label = share === null ? 'under way' : `${Math.round(share * 100)} %`;
  const bar = { width: (share ?? 1) * 100, height: 4, rx: 2, opacity: share === null ? '0.35' : 1 };
  return drawing(
    label,
    [100, 4],
    { class: 'progress', preserveAspectRatio: 'none', height: 8 },
    element('rect', { class: 'track', width: 100, height: 4, rx: 2 }),
    element('rect', { class: 'bar', ...bar }),
  );
}
