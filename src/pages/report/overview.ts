/** The key figures at the top, each with its value a week ago. */
import { html, type Html } from '../html.ts';
import { formatCount, formatNumber } from '../../shared/format.ts';
import type { StreamName } from '../../engine/streams/stream.ts';
import { HOUR_MS } from '../../shared/time.ts';
import { countUnread } from '../../engine/streams/unread-partitions.ts';
import { dayAfter, formatDay, formatMoment, formatShare } from '../words.ts';
import { outOfDateOf } from './equipment-section.ts';
import { countOf, oldestDueOf } from './followups-section.ts';
import type { Report } from './read-report.ts';
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

const unknown = (title: string): KeyFigure => ({ title, value: '–', beside: 'not read yet' });

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
    return weekAgo.length === 0 ? null : rows.reduce((sum, { followups }) => sum + followups, 0);
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
  return [
    ...(answers.followupsNow.length > 0
      ? followupKeyFigures(report).map((one) => keyFigureAsOf(report, 'followups', one))
      : ['Open follow-ups', 'Overdue follow-ups', 'Closed in time'].map(unknown)),
    answers.trainingNow.length > 0
      ? keyFigureAsOf(report, 'training-employee-status', trainedKeyFigure(report))
      : unknown('Trained'),
    outOfDateOf(report).inService > 0
      ? keyFigureAsOf(report, 'equipments', equipmentKeyFigure(report))
      : unknown('Expired equipment'),
  ];
}

export function overview(report: Report): Html {
  return html`<dl class="key-figures">${keyFiguresOf(report).map(renderKeyFigure)}</dl>`;
}
