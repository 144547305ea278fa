/** Small inline SVGs. They use attributes, because the page's policy forbids inline styles. */
import { formatCount } from '../../shared/format.ts';
import { type Progress, RECENT_RUNS } from '../../operate/status/read-account-rows.ts';
import type { DayVolume } from '../../operate/status/read-volumes.ts';
import type { RunSummary } from '../../operate/status/status.ts';
import { type Html, html } from '../html.ts';
import { clockTime, describeRun } from '../words.ts';

const SLOT = 10;
const BAR = 7;
const UP = 34;
const DOWN = 16;

const round = (value: number): number => Math.round(value * 10) / 10;

/** Square roots, so that a first sync of hours does not flatten the other runs. */
function scaled(value: number, most: number, height: number): number {
  if (value <= 0 || most <= 0) return 0;
  return Math.max(1.5, round((Math.sqrt(value) / Math.sqrt(most)) * height));
}

const changed = (run: RunSummary): number => run.inserted + run.updated + run.deleted;

/** Oldest run left. Upwards: duration, coloured by outcome. Downwards: changed rows. */
export function runsChart(runs: readonly RunSummary[], timezone: string): Html {
  const longestMs = Math.max(0, ...runs.map(({ durationMs }) => durationMs));
  const most = Math.max(0, ...runs.map(changed));
  const first = RECENT_RUNS - runs.length;
  const bars = runs.map((run, index) => {
    const x = (first + index) * SLOT;
    const up = Math.max(2, scaled(run.durationMs, longestMs, UP));
    const down = scaled(changed(run), most, DOWN);
    return html`<g
      ><title>${clockTime(run.startedMs, timezone)}: ${describeRun(run)}</title
      ><rect x="${x}" y="0" width="${SLOT}" height="${UP + DOWN + 3}" fill="transparent" /><rect
        class="${run.status}"
        x="${x}"
        y="${round(UP - up)}"
        width="${BAR}"
        height="${up}"
        rx="1"
      />${down > 0 && html`<rect class="rows" x="${x}" y="${UP + 3}" width="${BAR}" height="${down}" rx="1" />`}</g
    >`;
  });
  const label = `The last ${runs.length} runs: duration upwards, changed rows downwards`;
  return html`<svg
    class="runs"
    role="img"
    aria-label="${label}"
    viewBox="0 0 ${RECENT_RUNS * SLOT} ${UP + DOWN + 3}"
    preserveAspectRatio="none"
    height="53"
  >
    <line class="axis" x1="0" x2="${RECENT_RUNS * SLOT}" y1="${UP + 1.5}" y2="${UP + 1.5}" />
    ${bars}
  </svg>`;
}

const DAY_SLOT = 50;
const DAY_HEIGHT = 120;

export function daysChart(days: readonly DayVolume[]): Html {
  const most = Math.max(1, ...days.map(({ inserted, updated, deleted }) => inserted + updated + deleted));
  const bars = days.map((day, index) => {
    const x = index * DAY_SLOT + 6;
    const total = day.inserted + day.updated + day.deleted;
    const height = scaled(total, most, DAY_HEIGHT);
    let y = DAY_HEIGHT + 4;
    const pieces = (['inserted', 'updated', 'deleted'] as const).map((op) => {
      const part = total === 0 ? 0 : round((day[op] / total) * height);
      y = round(y - part);
      return (
        part > 0 &&
        html`<rect class="${op.slice(0, 3)}" x="${x}" y="${y}" width="${DAY_SLOT - 12}" height="${part}" />`
      );
    });
    const text = `${day.day}: ${formatCount(day.inserted)} new, ${formatCount(day.updated)} changed, ${formatCount(day.deleted)} deleted, ${formatCount(day.failedRuns)} failed runs`;
    const mark =
      day.failedRuns > 0 && html`<circle class="failed" cx="${x + 19}" cy="${DAY_HEIGHT + 30}" r="4" />`;
    return html`<g
      ><title>${text}</title
      ><rect
        x="${x - 6}"
        y="0"
        width="${DAY_SLOT}"
        height="${DAY_HEIGHT + 36}"
        fill="transparent"
      />${pieces}<text x="${x + 19}" y="${DAY_HEIGHT + 19}" text-anchor="middle">${day.day.slice(8)}</text
      >${mark}</g
    >`;
  });
  const width = Math.max(1, days.length) * DAY_SLOT;
  return html`<svg
    class="chart"
    role="img"
    aria-label="Changed rows per day"
    viewBox="0 0 ${width} ${DAY_HEIGHT + 36}"
  >
    <line class="axis" x1="0" x2="${width}" y1="${DAY_HEIGHT + 4}" y2="${DAY_HEIGHT + 4}" />
    ${bars}
  </svg>`;
}

/** A bar with the known share, or a faint full bar where the total is unknown. */
export function progressBar({ records, total }: Progress): Html {
  const share = total === null || total <= 0 ? null : Math.min(1, records / total);
  const label = share === null ? 'under way' : `${Math.round(share * 100)} %`;
  return html`<svg
    class="progress"
    role="img"
    aria-label="${label}"
    viewBox="0 0 100 4"
    preserveAspectRatio="none"
    height="8"
  >
    <rect class="track" width="100" height="4" rx="2" />
    <rect
      class="bar"
      width="${share === null ? 100 : round(share * 100)}"
      height="4"
      rx="2"
      ${share === null && html` opacity="0.35"`}
    />
  </svg>`;
}
