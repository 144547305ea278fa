/** Renders one account in full: streams, data issues, last runs. Pure. */
import { streamWords } from '../../engine/streams/index.ts';
import { formatAge, formatCount, formatDuration, formatNumber, roughly } from '../../shared/format.ts';
import { toIso } from '../../shared/time.ts';
import type { AccountDetail, RunSummary, StreamDetail } from '../../operate/status/account-detail.ts';
import type { Problem, ProblemKind } from '../../operate/status/problem.ts';
import { areAccountsRead, type Status } from '../../operate/status/status.ts';
import { type Html, html, type HtmlValue, list } from '../html.ts';
import { table } from '../table.ts';
import { clockTime, describeIssue } from '../words.ts';

const LISTED_ISSUES = 12;

export const ageOf = (ms: number | null, nowMs: number): string => roughly(formatAge(ms, nowMs));

function untilOf(ms: number, nowMs: number): string {
  const text = formatDuration(Math.ceil((ms - nowMs) / 1000) * 1000);
  return ms <= nowMs ? 'now' : `in ${roughly(text).replace('.0 s', ' s')}`;
}

export function titledCard(title: string, content: HtmlValue): Html {
  return html`<section>
    <h2>${title}</h2>
    <div class="card">${content}</div>
  </section>`;
}

export function moment(ms: number, text: string, timezone: string): Html {
  return html`<time datetime="${toIso(ms)}" title="${clockTime(ms, timezone)}">${text}</time>`;
}

export const badge = (level: string, text: string): Html => html`<span class="badge ${level}">${text}</span>`;

/** What a problem makes of a stream, in a word or two. */
const BADGES: Readonly<Partial<Record<ProblemKind, string>>> = {
  credentials_refused: 'refused by the service',
  service_away: 'service away',
  stale: 'stale',
  never_synced: 'never synced',
  held_up: 'held up',
  stream_failing: 'last run failed',
  delete_guard: 'delete guard',
};

export function badgeOf(stream: StreamDetail, { problems, database }: Pick<Status, 'problems' | 'database'>) {
  const { offReason, freshness, running, retry } = stream;
  if (running === null && offReason !== null)
    return badge('off', offReason === 'no equipment types' ? `off: ${offReason}` : offReason);
  if (!areAccountsRead(database)) return badge('off', 'not read yet');
  const isOf = ({ kind, subject, accountId }: Problem): boolean =>
    kind in BADGES &&
    accountId !== null &&
    ['', stream.stream, `reconcile of ${stream.stream}`].includes(subject);
  const found = problems.find(isOf);
  const work = running === null ? '' : running.kind === 'sync' ? 'syncing' : running.kind;
  const doing = work !== '' && retry !== null ? 'waiting' : work;
  if (!database.isUp)
    return badge('off', `last known: ${found === undefined ? 'fresh' : (BADGES[found.kind] ?? '')}`);
  if (found === undefined) return doing === '' ? badge('good', 'fresh') : badge('busy', doing);
  const isFirst = found.kind === 'never_synced' && found.level !== 'bad';
  if (isFirst) return badge('busy', doing === '' ? 'waits for its first run' : doing);
  const text = [BADGES[found.kind] ?? '', doing].filter((one) => one !== '').join(', ');
  return badge(freshness === 'fresh' ? 'warning' : found.level, text);
}

/** What the run that is under way does, or waits for. */
function activityOf({ running, retry, lastRun, isScheduled }: StreamDetail, nowMs: number): Html | null {
  if (running === null)
    return lastRun?.status === 'skipped' && isScheduled
      ? html`Last run skipped: ${lastRun.note ?? ''}`
      : null;
  const { kind, durationMs, progress } = running;
  const { records, total } = progress;
  const share = total === null || total <= 0 ? null : Math.min(1, records / total);
  const of = share === null ? '' : ` of ${formatCount(total ?? 0)} (${Math.floor(share * 100)} %)`;
  const what = { sync: 'Running', backfill: 'Backfill running', reconcile: 'Reconcile running' }[kind];
  const waits =
    retry !== null &&
    html` <span class="t-warning"
      >Waiting for ${formatDuration(nowMs - retry.sinceMs)}: ${retry.reason}.</span
    >`;
  return html`<span class="t-busy"
      >${what} for ${formatDuration(durationMs)}: ${formatCount(records)}${of} records.</span
    >${waits}`;
}

const describeRows = ({ rows, isEstimate }: StreamDetail): HtmlValue =>
  rows === null
    ? '–'
    : isEstimate
      ? html`about ${formatCount(rows)} <span class="dim small">with deleted ones</span>`
      : formatCount(rows);

function streams({ streams: rows, timezone }: AccountDetail, status: Status): Html {
  const { nowMs, database } = status;
  const at = (ms: number | null, text: (ms: number) => string, none: string): HtmlValue =>
    ms === null ? none : moment(ms, text(ms), timezone);
  const age = (ms: number): string => ageOf(ms, nowMs);
  const never = areAccountsRead(database) ? 'never' : '–';
  const isMigrating = (database.pendingMigrations ?? 0) > 0;
  return titledCard(
    'Streams',
    table<StreamDetail>({
      rows,
      columns: [
        ['stream', ({ stream }) => html`<span title="${stream}">${streamWords(stream)}</span>`],
        ['state', (stream) => badgeOf(stream, status)],
        ['last success', ({ lastSuccessMs }) => at(lastSuccessMs, age, never)],
        ['data up to', ({ currentToMs }) => at(currentToMs, age, ''), 'spare'],
        ['records', describeRows, 'num spare'],
        ['open issues', ({ openIssues }) => openIssues > 0 && formatNumber(openIssues, 'issue'), 'num spare'],
        [
          'next run',
          ({ nextRunMs }) =>
            at(nextRunMs, (ms) => untilOf(ms, nowMs), isMigrating ? 'after the migration' : 'none'),
          'spare',
        ],
      ],
      remark: (stream) => activityOf(stream, nowMs),
    }),
  );
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

/** For example `13 updated, 2 new`; empty when nothing changed. */
function changesOf({ inserted, updated, deleted, rejected }: RunSummary): string {
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

function lastRuns({ recentRuns: rows, timezone }: AccountDetail, { nowMs, database }: Status): Html {
  const runs = table<RunSummary>({
    rows,
    columns: [
      ['began', ({ startedMs: ms }) => moment(ms, ageOf(ms, nowMs), timezone)],
      ['stream', ({ stream }) => streamWords(stream)],
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

export function renderAccount(status: Status, detail: AccountDetail): Html {
  return html`${streams(detail, status)} ${issues(detail, areAccountsRead(status.database))}
  ${lastRuns(detail, status)}`;
}
