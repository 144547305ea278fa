/** One card a stream: when it last succeeded is the largest thing on it. */
import { formatCount, formatDuration, formatNumber } from '../../shared/format.ts';
import { MINUTE_MS } from '../../shared/time.ts';
import type { RunningReport, SingleStatus, StreamDetail } from '../../status/status.ts';
import { progressBar, runsChart } from './charts.ts';
import { type Html, html } from '../html.ts';
import { ageOf, badgeOf, clockTime, untilOf } from './words.ts';

export function moment(ms: number, text: string, timezone: string): Html {
  return html`<time datetime="${new Date(ms).toISOString()}" title="${clockTime(ms, timezone)}"
    >${text}</time
  >`;
}

function progressLine(run: RunningReport): Html {
  const { records, total } = run.progress;
  const share =
    total === null || total <= 0
      ? ''
      : ` of ${formatCount(total)} (${Math.min(100, Math.floor((records / total) * 100))} %)`;
  const what =
    run.kind === 'sync' ? 'Running' : `${run.kind === 'backfill' ? 'Backfill' : 'Reconcile'} running`;
  return html`<p class="small t-busy">
      ${what} for ${formatDuration(run.durationMs)}: ${formatCount(records)}${share} records
    </p>
    ${progressBar(run.progress)}`;
}

function remark({ lastRun, isScheduled, running }: StreamDetail): Html | null {
  if (running !== null || lastRun === null) return null;
  if (lastRun.status === 'failed') {
    return html`<p class="small t-bad">
      Last run failed: <code>${lastRun.error?.code ?? ''}</code> ${lastRun.error?.advice ?? ''}
    </p>`;
  }
  if (lastRun.status === 'skipped' && isScheduled)
    return html`<p class="small dim">Last run skipped: ${lastRun.note ?? ''}</p>`;
  return null;
}

function card(stream: StreamDetail, { nowMs, timezone }: SingleStatus): Html {
  const badge = badgeOf(stream);
  const rows = stream.rows === null ? '–' : `${stream.isEstimate ? 'about ' : ''}${formatCount(stream.rows)}`;
  const counted = stream.rowsCountedMs ?? nowMs;
  const isOldCount = stream.rows !== null && nowMs - counted > MINUTE_MS;
  const age = ageOf(stream.lastSuccessMs, nowMs);
  return html`<article class="card">
    <div class="head">
      <h3>${stream.stream}</h3>
      <span class="badge ${badge.level}">${badge.text}</span>
    </div>
    <p class="big">${stream.lastSuccessMs === null ? age : moment(stream.lastSuccessMs, age, timezone)}</p>
    <p class="small dim">last success</p>
    ${stream.running !== null && progressLine(stream.running)}${remark(stream)}
    <dl>
      <dt>records</dt>
      <dd>${rows}${isOldCount && html` <span class="dim small">${ageOf(counted, nowMs)}</span>`}</dd>
      ${
        stream.currentToMs !== null &&
        html`<dt>data up to</dt>
          <dd>${moment(stream.currentToMs, ageOf(stream.currentToMs, nowMs), timezone)}</dd>`
      }
      <dt>next run</dt>
      <dd>
        ${stream.nextRunMs === null ? 'none' : moment(stream.nextRunMs, untilOf(stream.nextRunMs, nowMs), timezone)}
      </dd>
      ${
        stream.openIssues > 0 &&
        html`<dt>open issues</dt>
          <dd>${formatNumber(stream.openIssues, 'issue')}</dd>`
      }
    </dl>
    ${runsChart(stream.recentRuns, timezone)}
  </article>`;
}

export function streamCards(status: SingleStatus): Html {
  return html`<section class="streams" aria-label="Streams">
    ${status.streams.map((stream) => card(stream, status))}
  </section>`;
}
