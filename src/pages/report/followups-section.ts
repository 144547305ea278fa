import { html, type Html } from '../html.ts';
import { table } from '../table.ts';
import { formatCount, formatNumber } from '../../shared/format.ts';
import type { Report } from './read-report.ts';
import { bars } from './bar-charts.ts';
import { HALF, type Pen } from './draw.ts';
import { empty, section } from './section.ts';
import { monthLine, trend } from './time-charts.ts';
import { formatDay, formatDays, formatMonth, formatShare, personOf } from '../words.ts';

const AGES: Readonly<Record<number, { label: string; color: string }>> = {
  1: { label: 'up to a week', color: 'var(--age1)' },
  2: { label: '8 to 30 days', color: 'var(--age2)' },
  3: { label: '31 to 90 days', color: 'var(--age3)' },
  4: { label: 'over 90 days', color: 'var(--age4)' },
};
const SHOWN_MONTHS = 24;

export function countOf(report: Report, status: string): number {
  return report.answers.followupsNow.find((row) => row.status === status)?.followups ?? 0;
}

/** What was on the first and the last day that a trend shows, in words. */
function describeBacklog({ answers }: Report): string {
  const rows = answers.backlogByDay;
  const at = (date: string | undefined, status: string) =>
    rows.find((row) => row.date === date && row.status === status)?.followups ?? 0;
  const [first, last] = [rows[0]?.date, rows.at(-1)?.date];
  if (first === undefined || last === undefined) return 'No day is known.';
  const say = (date: string) =>
    `${formatDay(date)}: ${formatCount(at(date, 'open'))} open in time or without a due day, ${formatCount(at(date, 'overdue'))} overdue`;
  return `${say(first)}. ${say(last)}.`;
}

function backlog(report: Report, pen: Pen): Html {
  const values = report.answers.backlogByDay.map(({ date, status, followups }) => ({
    date,
    series: status === 'open' ? 'not yet due' : status,
    value: followups,
  }));
  return trend(
    pen,
    {
      title: 'Open follow-ups at the end of each day',
      label: describeBacklog(report),
      note: 'Days before the first sync are told from when a follow-up was raised and resolved.',
    },
    [
      { name: 'overdue', color: 'var(--bad)' },
      { name: 'not yet due', color: 'var(--calm)' },
    ],
    values,
  );
}

function overdue({ answers }: Report, pen: Pen): Html | null {
  const { overdueByAge, overdueByAssignee } = answers;
  if (overdueByAge.length === 0) return empty('No follow-up is overdue.');
  const ages = Object.entries(AGES).map(([age, { label, color }]) => ({
    label,
    color,
    value: overdueByAge.find((row) => row.age === Number(age))?.overdue ?? 0,
  }));
  const total = ages.reduce((sum, { value }) => sum + value, 0);
  return html`<div class="two">
    ${bars(
      pen,
      {
        title: 'For how long they have been overdue',
        label: ages.map(({ label, value }) => `${label}: ${formatCount(value)}`).join('; '),
      },
      ages.map((age) => ({ ...age, remark: formatShare(age.value, total) })),
      HALF,
    )}
    ${table(
      'Who has the most overdue',
      [
        { title: 'assignee' },
        { title: 'overdue', isNumber: true },
        { title: 'over 30 days', isNumber: true },
        { title: 'oldest due', isNumber: true },
      ],
      overdueByAssignee.map((row) => [
        personOf(row.assignee_name, row.assignee_id),
        formatCount(row.overdue),
        formatCount(row.over_a_month),
        formatDay(row.oldest_due_on),
      ]),
    )}
  </div>`;
}

function timeToClose({ answers }: Report, pen: Pen): Html | null {
  const months = answers.timeToCloseByMonth.slice(-SHOWN_MONTHS);
  const forms = table(
    'By form',
    [
      { title: 'form' },
      { title: 'raised', isNumber: true },
      { title: 'still open', isNumber: true },
      { title: 'median days to close', isNumber: true },
      { title: 'slowest tenth, from days', isNumber: true, isSpare: true },
    ],
    answers.timeToCloseByForm.map((row) => [
      row.form_id ?? 'none',
      formatCount(row.raised),
      formatCount(row.still_open),
      formatDays(row.median_days),
      formatDays(row.slowest_tenth_days),
    ]),
  );
  const [first, last] = [months[0], months.at(-1)];
  if (first === undefined || last === undefined || months.length < 2) return forms;
  const line = monthLine(
    pen,
    {
      title: 'Days until half of a month’s follow-ups were closed',
      label: `From ${formatDays(first.median_days)} days in ${formatMonth(first.month)} to ${formatDays(last.median_days)} days in ${formatMonth(last.month)}.`,
      note: 'By the month in which they were raised, of those that are closed. The newest months look faster than they are, since their slow ones are still open.',
    },
    months.map(({ month, median_days: value }) => ({ month, value })),
    'days',
  );
  return html`${line}${forms}`;
}

function handedOn({ answers }: Report): Html {
  if (answers.mostHandedOn.length === 0) return empty('No follow-up was handed on more than once.');
  return table(
    'Handed on most often',
    [
      { title: 'follow-up' },
      { title: 'now with' },
      { title: 'handed on', isNumber: true },
      { title: 'due', isNumber: true, isSpare: true },
      { title: 'state' },
    ],
    answers.mostHandedOn.map((row) => [
      html`<code>${row.id}</code>`,
      personOf(row.assignee_name, row.assignee_id),
      `${formatCount(row.reassignment_count)} times`,
      formatDay(row.due_on),
      row.is_open === null ? 'unknown' : row.is_open ? 'open' : 'closed',
    ]),
  );
}

export function followupsSection(report: Report, pen: Pen): Html {
  const open = countOf(report, 'open') + countOf(report, 'overdue');
  const late = countOf(report, 'overdue');
  const oldest = report.answers.overdueByAge.map((row) => row.oldest_due_on).toSorted()[0];
  const lead =
    late === 0
      ? `${formatNumber(open, 'follow-up')} ${open === 1 ? 'is' : 'are'} open and none of them is overdue.`
      : `${formatCount(late)} of ${formatNumber(open, 'open follow-up')} ${late === 1 ? 'is' : 'are'} overdue; the oldest was due on ${formatDay(oldest ?? null)}.`;
  return section(report, {
    id: 'followups',
    title: 'Follow-ups',
    stream: 'followups',
    hasRows: report.answers.followupsNow.length > 0,
    lead,
    body: () => [
      backlog(report, pen),
      html`<h3>Overdue</h3>`,
      overdue(report, pen),
      html`<h3>Time to close</h3>`,
      timeToClose(report, pen),
      html`<h3>Handed from one to another</h3>`,
      handedOn(report),
    ],
  });
}
