/** Renders one account in full: streams, data issues, last runs. Pure. */
import { streamWords } from '../../engine/streams/index.ts';
import { adviceOf } from '../../shared/errors.ts';
import { formatAge, formatCount, formatDuration, formatNumber, roughly } from '../../shared/format.ts';
import { toIso, toMs } from '../../shared/time.ts';
import type { StreamStatus } from '../../operate/status/facts.ts';
import { type ProblemKind, waitWords } from '../../operate/status/problem-words.ts';
import type { AccountDetail } from '../../operate/status/read-detail.ts';
import { areAccountsRead, type Status } from '../../operate/status/status.ts';
import { type Html, html, type HtmlValue } from '../html.ts';
import { table } from '../table.ts';
import { clockTime } from '../words.ts';

type Run = AccountDetail['recentRuns'][number];

const LISTED_ISSUES = 12;

export const ageOf = (ms: number | null, nowMs: number): string => roughly(formatAge(ms, nowMs));

export const titledCard = (title: string, content: HtmlValue): Html =>
  html`<section>
    <h2>${title}</h2>
    <div class="card">${content}</div>
  </section>`;

export const moment = (ms: number, text: string, timezone: string): Html =>
  html`<time datetime="${toIso(ms)}" title="${clockTime(ms, timezone)}">${text}</time>`;

export const badge = (level: string, text: string): Html => html`<span class="badge ${level}">${text}</span>`;

/** The state of a stream with this problem, in a word or two. */
const BADGES: Readonly<Partial<Record<ProblemKind, string>>> = {
  credentials_refused: 'refused by the service',
  service_away: 'service away',
  stale: 'stale',
  never_synced: 'never synced',
  held_up: 'held up',
  stream_failing: 'last run failed',
  delete_guard: 'delete guard',
};

export function badgeOf({ stream, offReason, isRunning }: StreamStatus, status: Status): Html {
  if (!isRunning && offReason !== null) return badge('off', offReason);
  if (!areAccountsRead(status)) return badge('off', 'not read yet');
  const found = status.problems.find(
    ({ kind, subject, accountId }) =>
      kind in BADGES && accountId !== null && ['', stream, `reconcile of ${stream}`].includes(subject),
  );
  const state = found === undefined ? 'fresh' : (BADGES[found.kind] ?? '');
  if (!status.database.isUp) return badge('off', `last known: ${state}`);
  const level = found?.level ?? (isRunning ? 'busy' : 'good');
  return badge(level === 'note' ? 'busy' : level, isRunning ? `${state}, running` : state);
}

/** Progress of the open run, as of its last commit. */
function activityOf(stream: StreamStatus, { recentRuns }: AccountDetail, nowMs: number): Html | null {
  const run = recentRuns.find((one) => one.stream === stream.stream && one.status === 'running');
  if (run === undefined) return null;
  const took = formatDuration(Math.max(0, nowMs - toMs(run.started_at)));
  const { wait } = stream;
  return html`<span class="t-busy">${run.kind} for ${took}: ${formatNumber(run.records_read, 'record')}</span>
    ${wait !== null && html`<span class="t-warning">${waitWords(wait, nowMs)}</span>`}`;
}

function streamTable(streams: readonly StreamStatus[], detail: AccountDetail | null, status: Status): Html {
  const { nowMs } = status;
  const { timezone = 'UTC', liveRows = {}, nextRuns = [] } = detail ?? {};
  const at = (ms: number | null): HtmlValue => (ms === null ? '–' : moment(ms, ageOf(ms, nowMs), timezone));
  const nextOf = ({ stream }: StreamStatus): HtmlValue => {
    const next = nextRuns.find((one) => one.stream === stream && one.kind === 'sync');
    if (next === undefined) return '–';
    const inMs = Math.max(0, next.atMs - nowMs);
    return moment(next.atMs, `in ${roughly(formatDuration(inMs))}`, timezone);
  };
  return table<StreamStatus>({
    rows: streams,
    columns: [
      ['stream', ({ stream }) => html`<span title="${stream}">${streamWords(stream)}</span>`],
      ['state', (stream) => badgeOf(stream, status)],
      ['last success', ({ lastSuccessMs }) => at(lastSuccessMs)],
      ['data up to', ({ watermarkMs, calculatedMs }) => at(watermarkMs ?? calculatedMs), 'spare'],
      ['records', ({ stream }) => liveRows[stream] ?? '–', 'num spare'],
      ['open issues', ({ openIssues }) => openIssues > 0 && formatCount(openIssues), 'num spare'],
      ['next run', nextOf, 'spare'],
    ],
    remark: (stream) => (detail === null ? null : activityOf(stream, detail, nowMs)),
  });
}

function issueTable({ issues }: AccountDetail): Html {
  if (issues.length === 0) return html`<p>None.</p>`;
  const rest = issues.length - LISTED_ISSUES;
  return html`${table<AccountDetail['issues'][number]>({
      rows: issues.slice(0, LISTED_ISSUES),
      columns: [
        ['stream', ({ stream }) => streamWords(stream)],
        ['kind', ({ kind }) => kind.replaceAll('_', ' ')],
        ['field', ({ field }) => field ?? '–'],
        ['issues', ({ count }) => count, 'num'],
        ['for example', ({ problem }) => problem, 'spare'],
      ],
    })}
    <p class="small dim">
      ${rest > 0 && html`and ${formatNumber(rest, 'more kind')}. `}All of them:
      <code>safety-sync data-issues</code>
    </p>`;
}

const OUTCOME_STYLES = { succeeded: 't-good', failed: 't-bad', skipped: 'dim', running: 't-busy' } as const;

/** For example `2 new, 13 changed`; empty when nothing changed. */
function changesOf({ inserted, updated, deleted, rejected }: Run): string {
  const phrases = [
    [inserted, 'new'],
    [updated, 'changed'],
    [deleted, 'deleted'],
    [rejected, 'rejected'],
  ] as const;
  return phrases
    .flatMap(([count, word]) => (count === 0 ? [] : [`${formatCount(count)} ${word}`]))
    .join(', ');
}

function runTable({ recentRuns, timezone }: AccountDetail, nowMs: number): Html {
  return table<Run>({
    rows: recentRuns,
    columns: [
      ['began', ({ started_at: at }) => moment(toMs(at), ageOf(toMs(at), nowMs), timezone)],
      ['stream', ({ stream }) => streamWords(stream)],
      ['kind', ({ kind }) => kind, 'spare'],
      ['outcome', ({ status }) => html`<span class="${OUTCOME_STYLES[status]}">${status}</span>`],
      ['read', ({ records_read: read }) => read, 'num spare'],
      ['changes', changesOf],
      ['requests', ({ requests }) => requests, 'num spare'],
      [
        'took',
        ({ started_at: from, finished_at: to }) =>
          to === null ? '–' : formatDuration(Math.max(0, toMs(to) - toMs(from))),
        'num',
      ],
    ],
    remark: ({ error_code: code, error_message: message, note }) =>
      code === null ? note : `${code}: ${(message ?? '').replace(/\.?$/, '.')} ${adviceOf(code)}`,
  });
}

/** `detail` null: it was not read. */
export function renderAccount(status: Status, detail: AccountDetail | null): Html {
  const streams = status.accounts[0]?.streams ?? [];
  const unread = html`<p>Not read.</p>`;
  return html`${titledCard('Streams', streamTable(streams, detail, status))}
  ${titledCard('Open data issues', detail === null ? unread : issueTable(detail))}
  ${titledCard('Last runs', detail === null ? unread : runTable(detail, status.nowMs))}`;
}
