import { html, type Html } from '../html.ts';
import { table } from '../table.ts';
import { formatCount, formatNumber } from '../../shared/format.ts';
import type { Report } from './read-report.ts';
import { countOf, followupName } from './overdue-section.ts';
import { firstOf, linkedPerson, type ShownReport } from './shown-report.ts';
import { describeMessages } from './describe-messages.ts';
import { empty, type Section, streamSection } from './section.ts';
import { monthLine, TODAY_NOTE, trend } from './time-charts.ts';
import { formatDay, formatDays, formatMonth, labelOf } from '../words.ts';

const SHOWN_MONTHS = 24;

function backlog({ answers: { backlogByDay: rows } }: Report): Html {
  const [first, last] = [rows[0], rows.at(-1)];
  if (first === undefined || last === undefined) return empty('No day is known.');
  const countOn = (date: string, status: string) =>
    formatCount(rows.find((row) => row.date === date && row.status === status)?.followups ?? 0);
  const say = ({ date }: typeof first) =>
    `${formatDay(date)}: ${countOn(date, 'open')} open in time or without a due day, ${countOn(date, 'overdue')} overdue.`;
  return trend(
    {
      title: 'Open follow-ups at the end of each day',
      label: `${say(first)} ${say(last)}`,
      note: `Days before this data was first read are counted from when follow-ups were raised and closed. ${TODAY_NOTE}`,
    },
    [
      { name: 'overdue', color: 'var(--bad)' },
      { name: 'not yet due', color: 'var(--calm)' },
    ],
    rows.map(({ date, status, followups }) => ({
      date,
      series: status === 'open' ? 'not yet due' : status,
      value: followups,
    })),
  );
}

/** A month with more open follow-ups than this is dashed, because its closed ones are only the quick ones. */
const MOST_OPEN = 0.2;

function closing({ answers, today }: Report): Html | null {
  const months = answers.closedInTime.map(({ month, closed, in_time: inTime }) => ({
    month,
    value: (100 * inTime) / closed,
    isUnfinished: month.slice(0, 7) === today.slice(0, 7),
  }));
  const last = months.findLast(({ isUnfinished }) => !isUnfinished);
  if (last === undefined || months.length < 2) return null;
  return monthLine(
    {
      title: 'Closed by the due day, in percent of those that had one',
      label: `${formatDays(Math.round(last.value))} percent in ${formatMonth(last.month)}.`,
      note: 'By the month in which they were closed; the key figure at the top is of the last 30 days. Dashed: the month that is not over.',
    },
    { months, format: (value) => `${Math.round(value)} %`, most: 100 },
  );
}

function timeToClose({ answers }: Report): Html | null {
  const shown = answers.timeToCloseByMonth.slice(-SHOWN_MONTHS);
  const finished = shown.findLastIndex(({ raised, still_open: open }) => open <= MOST_OPEN * raised);
  const months = shown.flatMap(({ month, median_days: value }, at) =>
    value === null ? [] : [{ month, value, isUnfinished: at > finished }],
  );
  const [first, last] = [months[0], months.findLast(({ isUnfinished }) => !isUnfinished)];
  if (first === undefined || last === undefined || months.length < 2) return null;
  return monthLine(
    {
      title: 'Days until half of a month’s follow-ups were closed',
      label: `From ${formatDays(first.value)} days in ${formatMonth(first.month)} to ${formatDays(last.value)} days in ${formatMonth(last.month)}.`,
      note: 'By the month in which they were raised. Dashed: months of which more than a fifth are still open; so far only the quickest ones are closed.',
    },
    { months, format: (value) => `${formatDays(value)} days` },
  );
}

const inDays = (days: number | null): string =>
  days === null ? '–' : `${formatDays(days)} ${days === 1 ? 'day' : 'days'}`;

function byForm(report: ShownReport): Html {
  const { timeToCloseByForm: forms } = report.answers;
  return html`${table({
    caption: 'By form',
    rows: forms,
    columns: [
      { title: 'form', cell: (row) => labelOf(row.form_label, row.form_id, 'form') },
      { title: 'raised', isNumber: true, cell: (row) => formatCount(row.raised) },
      { title: 'still open', isNumber: true, cell: (row) => formatCount(row.still_open) },
      { title: 'half closed within', isNumber: true, cell: (row) => inDays(row.median_days) },
      {
        title: 'nine in ten within',
        isNumber: true,
        isSpare: true,
        cell: ({ slowest_tenth_days: days }) => inDays(days === null ? null : Math.round(days)),
      },
    ],
  })}
  ${firstOf(report, 'followups-by-form', { shown: forms.length, most: 10 })}`;
}

function handedOn(report: ShownReport): Html {
  const { answers, today } = report;
  if (answers.mostHandedOn.length === 0) return empty('No open follow-up was handed on more than once.');
  return html`${table({
    caption: 'Open, and handed on most often',
    rows: answers.mostHandedOn,
    columns: [
      { title: 'follow-up', cell: (row) => followupName(report, row) },
      { title: 'now with', cell: (row) => linkedPerson(report, row.assignee_name, row.assignee_id) },
      { title: 'handed on', isNumber: true, cell: (row) => `${formatCount(row.reassignment_count)} times` },
      { title: 'due', isNumber: true, cell: (row) => formatDay(row.due_on) },
    ],
    streamRemark: (row) => describeMessages(row, today),
  })}
  ${firstOf(report, 'open-followups', { shown: answers.mostHandedOn.length, most: 5 })}`;
}

export function followupsSection(report: ShownReport): Section {
  const open = countOf(report, 'open') + countOf(report, 'overdue');
  const late = countOf(report, 'overdue');
  const lead =
    late === 0
      ? `${formatNumber(open, 'follow-up')} ${open === 1 ? 'is' : 'are'} open and none of them is overdue.`
      : `${formatNumber(open, 'follow-up')} ${open === 1 ? 'is' : 'are'} open, ${formatCount(late)} of them overdue.`;
  return streamSection(report, {
    id: 'followups',
    title: 'Follow-ups',
    stream: 'followups',
    hasRows: report.answers.followupsNow.length > 0,
    lead,
    body: () => [
      backlog(report),
      html`<h3>Closing</h3>`,
      closing(report),
      timeToClose(report),
      byForm(report),
      handedOn(report),
    ],
  });
}
