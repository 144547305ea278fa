import { html, type Html } from '../html.ts';
import { table } from '../table.ts';
import { formatCount, formatNumber } from '../../shared/format.ts';
import type { Report } from './read-report.ts';
import { bars } from './bar-charts.ts';
import { describeMessages } from './describe-messages.ts';
import { empty, section } from './section.ts';
import { monthLine, TODAY_NOTE, trend } from './time-charts.ts';
import { formatDay, formatDays, formatMonth, formatShare, labelOf, personOf } from '../words.ts';

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

/** Describes the values of a trend on its first and last day. */
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

function backlog(report: Report): Html {
  const values = report.answers.backlogByDay.map(({ date, status, followups }) => ({
    date,
    series: status === 'open' ? 'not yet due' : status,
    value: followups,
  }));
  return trend(
    {
      title: 'Open follow-ups at the end of each day',
      label: describeBacklog(report),
      note: `Days before this data was first read are counted from when follow-ups were raised and closed. ${TODAY_NOTE}`,
    },
    [
      { name: 'overdue', color: 'var(--bad)' },
      { name: 'not yet due', color: 'var(--calm)' },
    ],
    values,
  );
}

function overdue({ answers, today }: Report): Html | null {
  const { overdueByAge, overdueByAssignee, longestOverdue, peopleWithOverdue } = answers;
  if (overdueByAge.length === 0) return empty('No follow-up is overdue.');
  const ages = Object.entries(AGES).map(([age, { label, color }]) => ({
    label,
    color,
    value: overdueByAge.find((row) => row.age === Number(age))?.overdue ?? 0,
  }));
  const total = ages.reduce((sum, { value }) => sum + value, 0);
  const held = overdueByAssignee.reduce((sum, row) => sum + row.overdue, 0);
  const others = (peopleWithOverdue[0]?.people ?? 0) - overdueByAssignee.length;
  const rest =
    total > held
      ? html`<p class="note">
          The other ${formatCount(total - held)} are with ${formatCount(others)} more people.
        </p>`
      : null;
  const more = total - longestOverdue.length;
  const longest = html`${table(
    'Overdue for longest',
    [
      { title: 'follow-up' },
      { title: 'with' },
      { title: 'due', isNumber: true, isSpare: true },
      { title: 'days overdue', isNumber: true },
    ],
    longestOverdue.map((row) => ({
      cells: [
        nameOf(row),
        personOf(row.assignee_name, row.assignee_id),
        formatDay(row.due_on),
        formatCount(row.days_overdue),
      ],
      remark: describeMessages(row, today),
    })),
  )}
  ${more > 0 && html`<p class="note">and ${formatCount(more)} more.</p>`}`;
  return html`${bars(
    {
      title: 'For how long they have been overdue',
      label: ages.map(({ label, value }) => `${label}: ${formatCount(value)}`).join('; '),
    },
    ages.map((age) => ({ ...age, remark: formatShare(age.value, total) })),
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
  ${rest} ${longest}`;
}

/** The label of the form and the follow-up's own id, to find it in the service. */
function nameOf(row: {
  readonly form_id: string | null;
  readonly form_label: string | null;
  readonly id: string;
}): Html {
  return html`${labelOf(row.form_label, row.form_id, 'form')} <code>${row.id}</code>`;
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
      note: 'By the month in which they were closed; the figure at the top is of the last 30 days. Dashed: the month that is not over.',
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
      note: 'By the month in which they were raised. Dashed: months of which more than a fifth are still open; those that are closed are the quick ones.',
    },
    { months, format: (value) => `${formatDays(value)} days` },
  );
}

const inDays = (days: number | null): string =>
  days === null ? '–' : `${formatDays(days)} ${days === 1 ? 'day' : 'days'}`;

function byForm({ answers }: Report): Html {
  return table(
    'By form',
    [
      { title: 'form' },
      { title: 'raised', isNumber: true },
      { title: 'still open', isNumber: true },
      { title: 'half closed within', isNumber: true },
      { title: 'nine in ten within', isNumber: true, isSpare: true },
    ],
    answers.timeToCloseByForm.map((row) => [
      labelOf(row.form_label, row.form_id, 'form'),
      formatCount(row.raised),
      formatCount(row.still_open),
      inDays(row.median_days),
      inDays(row.slowest_tenth_days === null ? null : Math.round(row.slowest_tenth_days)),
    ]),
  );
}

function handedOn({ answers, today }: Report): Html {
  if (answers.mostHandedOn.length === 0) return empty('No open follow-up was handed on more than once.');
  return table(
    'Open, and handed on most often',
    [
      { title: 'follow-up' },
      { title: 'now with' },
      { title: 'handed on', isNumber: true },
      { title: 'due', isNumber: true },
    ],
    answers.mostHandedOn.map((row) => ({
      cells: [
        nameOf(row),
        personOf(row.assignee_name, row.assignee_id),
        `${formatCount(row.reassignment_count)} times`,
        formatDay(row.due_on),
      ],
      remark: describeMessages(row, today),
    })),
  );
}

export function followupsSection(report: Report): Html {
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
      backlog(report),
      html`<h3>Overdue</h3>`,
      overdue(report),
      html`<h3>Closing</h3>`,
      closing(report),
      timeToClose(report),
      byForm(report),
      handedOn(report),
    ],
  });
}
