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
import { type Html, html, type HtmlValue } from '../html.ts';
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

function progressLine(run: RunningRun): Html {
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

function card(stream: StreamDetail, { nowMs, database }: Status, timezone: string): Html {
  const badge = badgeOf(stream, database);
  const rows =
    stream.rows !== null && stream.isEstimate
      ? html`about ${formatCount(stream.rows)} <span class="dim small">with deleted ones</span>`
      : stream.rows === null
        ? '–'
        : formatCount(stream.rows);
  const counted = stream.rowsCountedMs ?? nowMs;
  const isOldCount = stream.rows !== null && nowMs - counted > MINUTE_MS;
  const age = areAccountsRead(database) ? ageOf(stream.lastSuccessMs, nowMs) : '–';
  return html`<article class="card">
    <div class="head">
      <h3>${stream.stream}</h3>
      <span class="badge ${badge.level}">${badge.text}</span>
    </div>
    <p class="big">${stream.lastSuccessMs === null ? age : moment(stream.lastSuccessMs, age, timezone)}</p>
    <p class="small dim">last success</p>
    ${stream.running !== null && progressLine(stream.running)}${streamRemark(stream)}
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

const NOT_READ_YET = html`<p>Not read yet.</p>`;

function issues({ issues: groups }: AccountDetail, isRead: boolean): Html {
  const shown = groups.slice(0, LISTED_ISSUES);
  const rest = groups.length - shown.length;
  const list = html`<ul class="plain">
      ${shown.map((issue) => html`<li>${describeIssue(issue)}</li>`)}
    </ul>
    ${rest > 0 && html`<p class="small dim">and ${rest} more kinds</p>`}
    <p class="small dim">All of them: <code>safety-sync data-issues</code></p>`;
  const read = shown.length === 0 ? html`<p>None.</p>` : list;
  return titledCard('Open data issues', isRead ? read : NOT_READ_YET);
}

/** Ticks of one kind at one moment share a line. */
function nextRuns({ nextRuns: all, timezone }: AccountDetail, nowMs: number): Html {
  const groups = groupBy(all, ({ kind, atMs }) => `${kind} ${atMs}`);
  const lines = groups.slice(0, LISTED_NEXT).map((group) => {
    const [first] = group;
    return html`<li>
      <strong>${moment(first.atMs, untilOf(first.atMs, nowMs), timezone)}</strong> ${first.kind}:
      ${group.map(({ stream }) => stream).join(', ')}
      <span class="dim small">${clockTime(first.atMs, timezone)}</span>
    </li>`;
  });
  const list = html`<ul class="plain">
    ${lines}
  </ul>`;
  return titledCard('Next runs', lines.length === 0 ? html`<p>None is scheduled.</p>` : list);
}

const OUTCOME_LEVELS = { succeeded: 'good', failed: 'bad', skipped: 'dim', running: 'busy' } as const;

function remarkOf({ error, note, repaired }: RunSummary): string | null {
  const problem =
    error === null ? (note ?? '') : `${error.code}: ${error.message.replace(/\.?$/, '.')} ${error.advice}`;
  const missed =
    repaired !== null && repaired > 0
      ? `${formatCount(repaired)} of them had been missed by an earlier sync. `
      : '';
  return `${missed}${problem}` || null;
}

function outcomeOf({ status, kind }: RunSummary): Html {
  const level = OUTCOME_LEVELS[status];
  return html`<span class="${level === 'dim' ? 'dim' : `t-${level}`}">${status}</span
    >${kind !== 'sync' && html` <span class="dim">${kind}</span>`}`;
}

function lastRuns({ recentRuns: rows, timezone }: AccountDetail, { nowMs, database }: Status): Html {
  const list = table({
    rows,
    columns: [
      { title: 'began', cell: ({ startedMs: ms }) => moment(ms, ageOf(ms, nowMs), timezone) },
      { title: 'stream', cell: (run) => run.stream },
      { title: 'outcome', cell: outcomeOf },
      {
        title: 'read',
        isNumber: true,
        isSpare: true,
        cell: ({ status, read }) => status !== 'skipped' && formatCount(read),
      },
      { title: 'changes', cell: changesOf },
      { title: 'requests', isNumber: true, isSpare: true, cell: ({ requests }) => formatCount(requests) },
      { title: 'took', isNumber: true, cell: ({ durationMs }) => formatDuration(durationMs) },
    ],
    streamRemark: remarkOf,
  });
  const shown = rows.length === 0 ? html`<p>No run yet.</p>` : list;
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
