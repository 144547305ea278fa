/** The first screen of the report and of its mail: key figures, people to call, due and lapsing records, age of the data. */
import { streamNamed } from '../../engine/streams/index.ts';
import type { StreamName } from '../../engine/streams/stream.ts';
import { countUnread } from '../../engine/streams/unread-partitions.ts';
import { isAhead } from '../../operate/status/build-status.ts';
import { formatCount, formatDuration, formatNumber, roughly } from '../../shared/format.ts';
import type { RecordIds, RecordKind } from '../../shared/record-urls.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../shared/time.ts';
import { html, type Html, list } from '../html.ts';
import { dayAfter, formatDay, formatMoment, formatShare, labelOf, personOf, sumOf } from '../words.ts';
import { outOfDateOf } from './equipment-section.ts';
import { countOf, oldestDueOf } from './followups-section.ts';
import { isAnythingRead, type Report } from './read-report.ts';
import { empty } from './section.ts';
import { linked, type ShownReport } from './shown-report.ts';
import { type Share, trainedOf } from './training-section.ts';

interface KeyFigureChange {
  /** For example `▲ 3 more than a week ago`. */
  readonly text: string;
  /** null: unchanged. */
  readonly isBetter: boolean | null;
}

export interface KeyFigure {
  readonly title: string;
  readonly value: string;
  readonly beside: string;
  /** null: the earlier value is unknown. */
  readonly change?: KeyFigureChange | null;
  readonly isBad?: boolean;
}

function renderKeyFigure({ title, value, beside, change = null, isBad = false }: KeyFigure): Html {
  return html`<div>
    <dt>${title}</dt>
    <dd class="value${isBad && ' bad'}">${value}</dd>
    ${change !== null && html`<dd class="change${change.isBetter !== null && (change.isBetter ? ' better' : ' worse')}">${change.text}</dd>`}
    <dd class="beside">${beside}</dd>
  </div>`;
}

const wasRead = ({ streams }: Report, stream: StreamName): boolean =>
  streams.some((one) => one.stream === stream && one.lastSuccessMs !== null);

/** For a stream without rows. `none`: what the service has none of. */
const unknown = (title: string, isRead: boolean, none: string): KeyFigure => ({
  title,
  value: '–',
  beside: isRead ? `no ${none}` : 'not read yet',
});

/** `before`: the value a week ago; null: unknown. Fewer is better. */
function compareCounts(now: number, before: number | null): KeyFigureChange | null {
  if (before === null) return null;
  const by = now - before;
  if (by === 0) return { text: 'as many as a week ago', isBetter: null };
  const words = by > 0 ? `▲ ${formatCount(by)} more` : `▼ ${formatCount(-by)} fewer`;
  return { text: `${words} than a week ago`, isBetter: by < 0 };
}

/** Rounds as displayed, so that a change below one percent counts as none. More is better. */
function compareShares(now: Share, before: Share, since: string): KeyFigureChange | null {
  if (now.whole === 0 || before.whole === 0) return null;
  const [shown, shownBefore] = [now, before].map(({ count, whole }) => formatShare(count, whole));
  if (shown === shownBefore) return { text: `as ${since}`, isBetter: null };
  const isBetter = now.count / now.whole > before.count / before.whole;
  return { text: `${isBetter ? '▲' : '▼'} from ${shownBefore ?? ''} ${since}`, isBetter };
}

function followupKeyFigures(report: Report): KeyFigure[] {
  const { answers } = report;
  const late = countOf(report, 'overdue');
  const open = countOf(report, 'open') + late;
  const weekAgo = answers.followupsWeekAgo;
  const past = (...statuses: string[]) => {
    const rows = weekAgo.filter(({ status }) => statuses.includes(status));
    return weekAgo.length === 0 ? null : sumOf(rows, 'followups');
  };
  const [lately] = answers.closedLately;
  const inTime = { count: lately.in_time, whole: lately.closed };
  const before = { count: lately.in_time_before, whole: lately.closed_before };
  return [
    {
      title: 'Open follow-ups',
      value: formatCount(open),
      change: compareCounts(open, past('open', 'overdue')),
      beside: `${formatCount(open - late)} of them not yet due`,
    },
    {
      title: 'Overdue follow-ups',
      value: formatCount(late),
      change: compareCounts(late, past('overdue')),
      beside: late === 0 ? 'none' : `the oldest since ${formatDay(oldestDueOf(report))}`,
      isBad: late > 0,
    },
    {
      title: 'Closed in time',
      value: formatShare(inTime.count, inTime.whole),
      change: compareShares(inTime, before, 'in the 30 days before'),
      beside: `${formatCount(inTime.count)} of ${formatCount(inTime.whole)} closed in the last 30 days, with a due day`,
    },
  ];
}

function trainedKeyFigure(report: Report): KeyFigure {
  const now = trainedOf(report.answers.trainingNow);
  const weekAgo = dayAfter(report.today, -7);
  const then = trainedOf(report.answers.trainingByDay.filter(({ date }) => date === weekAgo));
  return {
    title: 'Trained',
    value: formatShare(now.count, now.whole),
    change: compareShares(now, then, 'a week ago'),
    beside: `${formatCount(now.count)} of ${formatCount(now.whole)} who need training`,
  };
}

function equipmentKeyFigure(report: Report): KeyFigure {
  const { expired, inService } = outOfDateOf(report);
  const weekAgo = dayAfter(report.today, -7);
  const then = report.answers.equipmentByDay.filter(({ date }) => date === weekAgo);
  const before = then.find(({ status }) => status === 'expired')?.in_service ?? 0;
  const notRead = `; ${formatNumber(countUnread(report.unread), 'piece')} not read any more`;
  return {
    title: 'Expired equipment',
    value: formatCount(expired),
    change: compareCounts(expired, then.length === 0 ? null : before),
    beside: `of ${formatCount(inService)} in service${report.unread.length === 0 ? '' : notRead}`,
    isBad: expired > 0,
  };
}

/** The streams are synced at different times. A key figure of the last hour is as old as the report. */
function keyFigureAsOf({ streams, timezone, asOfMs }: Report, stream: StreamName, one: KeyFigure): KeyFigure {
  const readMs = streams.find((other) => other.stream === stream)?.lastSuccessMs ?? null;
  if (readMs === null || asOfMs - readMs < HOUR_MS) return one;
  return { ...one, beside: `${one.beside}; as of ${formatMoment(readMs, timezone)}` };
}

export function keyFiguresOf(report: Report): KeyFigure[] {
  const { answers } = report;
  const isRead = (stream: StreamName): boolean => wasRead(report, stream);
  return [
    ...(answers.followupsNow.length > 0
      ? followupKeyFigures(report).map((one) => keyFigureAsOf(report, 'followups', one))
      : ['Open follow-ups', 'Overdue follow-ups', 'Closed in time'].map((title) =>
          unknown(title, isRead('followups'), 'follow-ups'),
        )),
    answers.trainingNow.length > 0
      ? keyFigureAsOf(report, 'training-employee-status', trainedKeyFigure(report))
      : unknown('Trained', isRead('training-employee-status'), 'employees'),
    outOfDateOf(report).inService > 0
      ? keyFigureAsOf(report, 'equipments', equipmentKeyFigure(report))
      : unknown('Expired equipment', isRead('equipments'), 'equipment in service'),
  ];
}

const SHOWN = 3;

/** A line that begins with a record. */
export interface RecordLine {
  readonly kind: RecordKind;
  readonly of: RecordIds | string | null;
  readonly shown: string;
  readonly text: string;
}

/** The people with the most overdue follow-ups. */
export const callsOf = ({ answers }: Report): RecordLine[] =>
  answers.overdueByAssignee.slice(0, SHOWN).map((row) => ({
    kind: 'employee',
    of: row.assignee_id,
    shown: personOf(row.assignee_name, row.assignee_id),
    text: `: ${formatCount(row.overdue)} overdue, the oldest due on ${formatDay(row.oldest_due_on)}`,
  }));

export const longestOf = ({ answers }: Report): RecordLine[] =>
  answers.longestOverdue.slice(0, SHOWN).map((row) => ({
    kind: 'followup',
    of: row,
    shown: `${labelOf(row.form_label, row.form_id, 'form')} ${row.id}`,
    text: `: ${formatNumber(row.days_overdue, 'day')} overdue, with ${personOf(row.assignee_name, row.assignee_id)}`,
  }));

/** Counts of due and lapsing records of the next days; empty: there are none. */
export function lapsesOf({ answers }: Report): string[] {
  const within = (days: number) => answers.lapsing.find((row) => row.days === days)?.required ?? 0;
  const phrases = [
    [answers.lastWeek[0].due, 'follow-up', 'fall', 'due within 7 days'],
    [answers.inspections[0].expiring, 'inspection', 'expire', 'within 7 days'],
    [within(7), 'required training', 'lapse', 'within 7 days'],
    [within(30), 'required training', 'lapse', 'within 30 days'],
  ] as const;
  return phrases
    .filter(([count]) => count > 0)
    .map(
      ([count, noun, verb, when]) => `${formatNumber(count, noun)} ${verb}${count === 1 ? 's' : ''} ${when}`,
    );
}

/** How long before the report a stream was read. */
export function before(readMs: number, asOfMs: number): string {
  if (isAhead(readMs, asOfMs)) return 'unknown: a clock was put back';
  const ms = asOfMs - readMs;
  return ms < MINUTE_MS ? 'less than a minute' : roughly(formatDuration(ms));
}

/** The age of the oldest stream, streams that were never read, and failures. null: nothing was read. */
export function dataAge(report: Report): { readonly text: string; readonly isBad: boolean } | null {
  const { streams, asOfMs } = report;
  if (!isAnythingRead(report)) return null;
  const namesOf = (all: Report['streams']): string =>
    all.map(({ stream }) => streamNamed(stream).contents).join(', ');
  const oldestMs = Math.min(...streams.flatMap(({ lastSuccessMs }) => lastSuccessMs ?? []));
  const oldest = streams.filter(({ lastSuccessMs }) => lastSuccessMs === oldestMs);
  const ahead = streams.filter(({ lastSuccessMs }) => isAhead(lastSuccessMs ?? 0, asOfMs));
  const age = before(oldestMs, asOfMs);
  const never = streams.filter(({ lastSuccessMs }) => lastSuccessMs === null);
  const failed = streams.filter(({ failingWith }) => failingWith !== undefined);
  const known = isAhead(oldestMs, asOfMs)
    ? []
    : [
        asOfMs - oldestMs < MINUTE_MS
          ? `The data is ${age} old.`
          : `The oldest part, ${namesOf(oldest)}, was read ${age} before this report.`,
      ];
  const sentences = [
    ...known,
    ...(ahead.length > 0 ? [`The age of ${namesOf(ahead)} is unknown, because a clock was put back.`] : []),
    ...(never.length > 0 ? [`Never read: ${namesOf(never)}.`] : []),
    ...(failed.length > 0 ? [`The newest attempt failed for ${namesOf(failed)}.`] : []),
  ];
  return { text: sentences.join(' '), isBad: failed.length + ahead.length > 0 || asOfMs - oldestMs > DAY_MS };
}

/** The key figures, each with its value a week ago, and two lists below. */
export function firstScreen(report: ShownReport): Html {
  const calls = callsOf(report).map(
    ({ kind, of, shown, text }) => html`<li>${linked(report, kind, of, html`<b>${shown}</b>`)}${text}</li>`,
  );
  const lapses = lapsesOf(report);
  const none = wasRead(report, 'followups')
    ? 'Nothing is due and nothing lapses in the next 30 days.'
    : 'Not known.';
  return html`<dl class="key-figures">${keyFiguresOf(report).map(renderKeyFigure)}</dl>
    <div class="first">
      ${
        calls.length > 0 &&
        html`<section aria-labelledby="calls-title">
          <h2 id="calls-title">Call first</h2>
          <ol>
            ${calls}
          </ol>
        </section>`
      }
      <section aria-labelledby="lapses-title">
        <h2 id="lapses-title">Due and lapsing next</h2>
        ${lapses.length === 0 ? empty(none) : list(lapses)}
      </section>
    </div>`;
}
