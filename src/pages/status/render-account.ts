/** One account in full: its streams, rows over time, next runs, data issues, last runs. Pure. */
import { formatCount, formatDuration } from '../../shared/format.ts';
import type { NextRunReport, RunReport, SingleStatus } from '../../status/status.ts';
import { type Html, html } from '../html.ts';
import { daysChart } from './charts.ts';
import { moment, streamCards } from './stream-cards.ts';
import { ageOf, changesOf, clockTime, describeIssue, untilOf } from './words.ts';

const LISTED_ISSUES = 12;
const LISTED_NEXT = 12;

function issues({ issues: groups }: SingleStatus): Html {
  const shown = groups.slice(0, LISTED_ISSUES);
  const rest = groups.length - shown.length;
  const list = html`<ul class="plain">
      ${shown.map((issue) => html`<li>${describeIssue(issue)}</li>`)}
    </ul>
    ${rest > 0 && html`<p class="small dim">and ${rest} more kinds</p>`}
    <p class="small dim">All of them: <code>safety-sync data-issues</code></p>`;
  return html`<section>
    <h2>Open data issues</h2>
    <div class="card">
      ${shown.length === 0 ? html`<p>None: everything was stored as it came.</p>` : list}
    </div>
  </section>`;
}

/** Firings of one kind at one moment are one line. */
function nextRuns({ nextRuns: all, nowMs, timezone }: SingleStatus): Html {
  const groups = new Map<string, NextRunReport[]>();
  for (const next of all) {
    const key = `${next.kind} ${next.atMs}`;
    groups.set(key, [...(groups.get(key) ?? []), next]);
  }
  const lines = [...groups.values()].slice(0, LISTED_NEXT).map((group) => {
    const [first] = group;
    if (first === undefined) return null;
    return html`<li>
      <strong>${moment(first.atMs, untilOf(first.atMs, nowMs), timezone)}</strong> ${first.kind}:
      ${group.map(({ stream }) => stream).join(', ')}
      <span class="dim small">${clockTime(first.atMs, timezone)}</span>
    </li>`;
  });
  return html`<section>
    <h2>Next runs</h2>
    <div class="card">
      ${
        lines.length === 0
          ? html`<p>None is scheduled.</p>`
          : html`<ul class="plain">
              ${lines}
            </ul>`
      }
    </div>
  </section>`;
}

const OUTCOME_LEVELS = { succeeded: 'good', failed: 'bad', skipped: 'dim', running: 'busy' } as const;

function runRows(run: RunReport, { nowMs, timezone }: SingleStatus): Html {
  const level = OUTCOME_LEVELS[run.status];
  const remark =
    run.error === null
      ? (run.note ?? '')
      : `${run.error.code}: ${run.error.message.replace(/\.?$/, '.')} ${run.error.advice}`;
  const repaired =
    run.repaired !== null && run.repaired > 0
      ? `${formatCount(run.repaired)} of them an earlier sync should have brought. `
      : '';
  return html`<tr>
      <td>${moment(run.startedMs, ageOf(run.startedMs, nowMs), timezone)}</td>
      <td>${run.stream}</td>
      <td class="${level === 'dim' ? 'dim' : `t-${level}`}">
        ${run.status}${run.kind !== 'sync' && html` <span class="dim">${run.kind}</span>`}
      </td>
      <td class="num wide">${run.status === 'skipped' ? '' : formatCount(run.read)}</td>
      <td>${changesOf(run)}</td>
      <td class="num wide">${formatCount(run.requests)}</td>
      <td class="num">${formatDuration(run.durationMs)}</td>
    </tr>
    ${
      (remark !== '' || repaired !== '') &&
      html`<tr>
        <td class="remark small" colspan="7">${repaired}${remark}</td>
      </tr>`
    }`;
}

function lastRuns(status: SingleStatus): Html {
  const rows = status.recentRuns.map((run) => runRows(run, status));
  return html`<section>
    <h2>Last runs</h2>
    <div class="card">
      ${
        rows.length === 0
          ? html`<p>There was none yet.</p>`
          : html`<table>
              <thead>
                <tr>
                  <th>began</th>
                  <th>stream</th>
                  <th>outcome</th>
                  <th class="num wide">read</th>
                  <th>changes</th>
                  <th class="num wide">requests</th>
                  <th class="num">took</th>
                </tr>
              </thead>
              <tbody>
                ${rows}
              </tbody>
            </table>`
      }
    </div>
  </section>`;
}

const dot = (name: string) =>
  html`<svg viewBox="0 0 8 8"><rect class="${name}" width="8" height="8" rx="2" /></svg>`;

function days({ days: volumes }: SingleStatus): Html | null {
  if (volumes.length === 0) return null;
  return html`<section>
    <h2>Rows over time</h2>
    <div class="card">
      ${daysChart(volumes)}
      <div class="key">
        <span>${dot('ins')}new</span><span>${dot('upd')}changed</span><span>${dot('del')}deleted</span
        ><span>${dot('failed')}failed runs that day</span>
      </div>
    </div>
  </section>`;
}

export function renderAccount(status: SingleStatus): Html {
  return html`${streamCards(status)}
    <div class="two">${days(status)}${nextRuns(status)}</div>
    ${issues(status)} ${lastRuns(status)}`;
}
