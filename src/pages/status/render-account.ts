/** Renders one account in full: streams, rows over time, next runs, data issues, recent runs. Pure. */
import { formatCount, formatDuration, formatNumber } from '../../shared/format.ts';
import { groupBy } from '../../shared/group-by.ts';
import { MINUTE_MS, toIso } from '../../shared/time.ts';
import type {
  AccountDetail,
  RunningRun,
  StreamDetail,
  RunSummary,
} from '../../operate/status/account-detail.ts';
import type { Status } from '../../operate/status/build-status.ts';
import { areAccountsRead } from '../../operate/status/status.ts';
import { type Html, html, type HtmlValue, list } from '../html.ts';
import { table } from '../table.ts';
import { ageOf, badgeOf, changesOf, clockTime, describeIssue, untilOf } from '../words.ts';
import { daysChart, progressBar, runsChart } from './charts.ts';

const LISTED_ISSUES = 12;
const LISTED_NEXT = 12;

export function titledCard(title: string, content: HtmlValue): Html {
  return html`<section>
    <h2>${title}</h2>
    <div class="card">${content}</div>
  </section>`;
}

export function moment(ms: number, text: string, timezone: string): Html {
  return html`<time datetime="${toIso(ms)}" title="${clockTime(ms, timezone)}">${text}</time>`;
}

function progressLine({ kind, durationMs, progress }: RunningRun): Html {
  const { records, total } = progress;
  const percent = total === null || total <= 0 ? null : Math.min(100, Math.floor((records / total) * 100));
  const share = percent === null ? '' : ` of ${formatCount(total ?? 0)} (${percent} %)`;
  const what = { sync: 'Running', backfill: 'Backfill running', reconcile: 'Reconcile running' }[kind];
  return html`<p class="small t-busy">
      ${what} for ${formatDuration(durationMs)}: ${formatCount(records)}${share} records
    </p>
    ${progressBar(progress)}`;
}

function streamRemark({ lastRun, isScheduled, running }: StreamDetail): Html | null {
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

function describeRows({ rows, isEstimate, rowsCountedMs }: StreamDetail, nowMs: number): HtmlValue {
  if (rows === null) return '–';
  const counted = rowsCountedMs ?? nowMs;
  return [
    isEstimate
      ? html`about ${formatCount(rows)} <span class="dim small">with deleted ones</span>`
      : formatCount(rows),
    nowMs - counted > MINUTE_MS && html` <span class="dim small">${ageOf(counted, nowMs)}</span>`,
  ];
}

function card(stream: StreamDetail, { nowMs, database }: Status, timezone: string): Html {
  const badge = badgeOf(stream, database);
  const { lastSuccessMs, currentToMs, nextRunMs, openIssues } = stream;
  const age = areAccountsRead(database) ? ageOf(lastSuccessMs, nowMs) : '–';
  const facts: readonly (readonly [term: string, value: HtmlValue])[] = [
    ['records', describeRows(stream, nowMs)],
    ['data up to', currentToMs !== null && moment(currentToMs, ageOf(currentToMs, nowMs), timezone)],
    ['next run', nextRunMs === null ? 'none' : moment(nextRunMs, untilOf(nextRunMs, nowMs), timezone)],
    ['open issues', openIssues > 0 && formatNumber(openIssues, 'issue')],
  ];
  return html`<article class="card">
    <div class="head">
      <h3>${stream.stream}</h3>
      <span class="badge ${badge.level}">${badge.text}</span>
    </div>
    <p class="big">${lastSuccessMs === null ? age : moment(lastSuccessMs, age, timezone)}</p>
    <p class="small dim">last success</p>
    ${stream.running !== null && progressLine(stream.running)}${streamRemark(stream)}
    <dl>
      ${facts.map(
        ([term, value]) =>
          value !== false &&
          html`<dt>${term}</dt>
            <dd>${value}</dd>`,
      )}
    </dl>
    ${runsChart(stream.recentRuns, timezone)}
  </article>`;
}

const NOT_READ_YET = html`<p>Not read yet.</p>`;

function issues({ issues: groups }: AccountDetail, isRead: boolean): Html {
  const rest = groups.length - LISTED_ISSUES;
  const read = html`${list(groups.slice(0, LISTED_ISSUES).map(describeIssue), 'plain')}
    ${rest > 0 && html`<p class="small dim">and ${formatNumber(rest, 'more kind')}</p>`}
    <p class="small dim">All of them: <code>safety-sync data-issues</code></p>`;
  const known = groups.length === 0 ? html`<p>None.</p>` : read;
  return titledCard('Open data issues', isRead ? known : NOT_READ_YET);
}

/** Ticks of one kind at one moment share a line. */
function nextRuns({ nextRuns: all, timezone }: AccountDetail, nowMs: number): Html {
  const groups = groupBy(all, ({ kind, atMs }) => `${kind} ${atMs}`);
  const lines = groups.slice(0, LISTED_NEXT).map((group) => {
    const [{ atMs, kind }] = group;
    return html`<strong>${moment(atMs, untilOf(atMs, nowMs), timezone)}</strong> ${kind}:
      ${group.map(({ stream }) => stream).join(', ')}
      <span class="dim small">${clockTime(atMs, timezone)}</span>`;
  });
  return titledCard('Next runs', lines.length === 0 ? html`<p>None is scheduled.</p>` : list(lines, 'plain'));
}

const OUTCOME_STYLES = { succeeded: 't-good', failed: 't-bad', skipped: 'dim', running: 't-busy' } as const;

function remarkOf({ error, note, repaired }: RunSummary): string | null {
  const missed =
    (repaired ?? 0) > 0 && `${formatCount(repaired ?? 0)} of them had been missed by an earlier sync.`;
  const failure = error !== null && `${error.code}: ${error.message.replace(/\.?$/, '.')} ${error.advice}`;
  return [missed, failure || note].filter(Boolean).join(' ') || null;
}

function outcomeOf({ status, kind }: RunSummary): Html {
  return html`<span class="${OUTCOME_STYLES[status]}">${status}</span
    >${kind !== 'sync' && html` <span class="dim">${kind}</span>`}`;
}

function lastRuns({ recentRuns: rows, timezone }: AccountDetail, { nowMs, database }: Status): Html {
  const runs = table({
    rows,
    columns: [
      ['began', ({ startedMs: ms }) => moment(ms, ageOf(ms, nowMs), timezone)],
      ['stream', (run) => run.stream],
      ['outcome', outcomeOf],
      ['read', ({ status, read }) => status !== 'skipped' && formatCount(read), 'num spare'],
      ['changes', changesOf],
      ['requests', ({ requests }) => requests, 'num spare'],
      ['took', ({ durationMs }) => formatDuration(durationMs), 'num'],
    ],
    remark: remarkOf,
  });
  const shown = rows.length === 0 ? html`<p>No run yet.</p>` : runs;
  return titledCard('Last runs', areAccountsRead(database) ? shown : NOT_READ_YET);
}

const dot = (name: string) =>
  html`<svg viewBox="0 0 8 8"><rect class="${name}" width="8" height="8" rx="2" /></svg>`;

function days({ days: volumes }: AccountDetail): Html | null {
  if (volumes.length === 0) return null;
  return titledCard(
    'Rows over time',
    html`${daysChart(volumes)}
      <div class="key">
        <span>${dot('ins')}new</span><span>${dot('upd')}changed</span><span>${dot('del')}deleted</span
        ><span>${dot('failed')}failed runs that day</span>
      </div>`,
  );
}

export function renderAccount(status: Status, detail: AccountDetail): Html {
  const { nowMs } = status;
  return html`<section class="streams" aria-label="Streams">
      ${detail.streams.map((stream) => card(stream, status, detail.timezone))}
    </section>
    <div class="two">${days(detail)}${nextRuns(detail, nowMs)}</div>
    ${issues(detail, areAccountsRead(status.database))} ${lastRuns(detail, status)}`;
}
