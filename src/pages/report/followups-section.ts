/** The sections about overdue follow-ups and about all of them. */
import { formatCount, formatNumber } from '../../shared/format.ts';
import { html, type Html, type HtmlValue } from '../html.ts';
import { table } from '../table.ts';
import { formatDay, formatDays, formatMonth, formatShortDay, labelOf, shorten, sumOf } from '../words.ts';
import { bars } from './charts.ts';
import type { Report } from './read-report.ts';
import { empty, type Section, streamSection } from './section.ts';
import { firstOf, linked, linkedPerson, listLocation, restOf, type ShownReport } from './shown-report.ts';
import { monthLine, TODAY_NOTE, trend } from './time-charts.ts';

export function countOf({ answers }: Report, status: string): number {
  return answers.followupsNow.find((row) => row.status === status)?.followups ?? 0;
}

export const oldestDueOf = ({ answers }: Report): string | null =>
  answers.overdueByAge.map((row) => row.oldest_due_on).toSorted()[0] ?? null;

const NOTE_LENGTH = 140;
const hasText = (note: string | null): note is string => note !== null && note.trim() !== '';
const quoteNote = (note: string): string => `“${shorten(note.replace(/\s+/g, ' ').trim(), NOTE_LENGTH)}”`;

interface Messages {
  readonly first_note: string | null;
  readonly last_note: string | null;
  readonly last_on: string | null;
  readonly last_by_id: string | null;
  readonly last_by_name: string | null;
}

/** The first and the last message; days of the report's year are shown without the year. null: there are none. */
export function describeMessages({ today }: Report, row: Messages): Html | null {
  const { first_note: first, last_note: last, last_on: on } = row;
  const about = hasText(first) && quoteNote(first);
  const isThisYear = on?.startsWith(today.slice(0, 5)) === true;
  const day = on === null ? null : isThisYear ? formatShortDay(on) : formatDay(on);
  const author = [row.last_by_name ?? row.last_by_id, day].filter((text) => text !== null).join(', ');
  const latest = hasText(last) && html`<span class="dim">${author}: ${quoteNote(last)}</span>`;
  return about === false && latest === false ? null : html`${about} ${latest}`;
}

interface Named {
  readonly form_id: string | null;
  readonly form_label: string | null;
  readonly id: string;
  readonly response_id: string | null;
}

/** The label of the form and the follow-up's own id, to find it in the service. */
function followupName(report: ShownReport, row: Named): Html {
  const { form_label: label, form_id: formId, id } = row;
  return html`${labelOf(label, formId, 'form')} ${linked(report, 'followup', row, html`<code>${id}</code>`)}`;
}

/** The groups of `overdueByAge`, which numbers them from 1, as do their colours. */
const AGES = ['up to a week', '8 to 30 days', '31 to 90 days', 'over 90 days'];

function overdueBody(report: ShownReport): HtmlValue {
  const { overdueByAge, overdueByAssignee, longestOverdue, peopleWithOverdue } = report.answers;
  const ages = AGES.map((label, at) => ({
    label,
    color: `var(--age${at + 1})`,
    value: overdueByAge.find((row) => row.age === at + 1)?.overdue ?? 0,
  }));
  const total = sumOf(ages, 'value');
  const rest = total - sumOf(overdueByAssignee, 'overdue');
  const named = overdueByAssignee.filter(({ assignee_id: id }) => id !== null).length;
  const [{ people, unassigned }] = peopleWithOverdue;
  const others = [
    ...(people > named
      ? [`with ${formatCount(people - named)} more ${people - named === 1 ? 'person' : 'people'}`]
      : []),
    ...(unassigned > 0 && named === overdueByAssignee.length ? ['not assigned'] : []),
  ];
  return [
    bars({ title: 'For how long they have been overdue' }, ages),
    table({
      caption: 'Who has the most overdue',
      rows: overdueByAssignee,
      columns: [
        ['assignee', (row) => linkedPerson(report, row.assignee_name, row.assignee_id)],
        ['overdue', (row) => row.overdue, 'num'],
        ['over 30 days', (row) => row.over_a_month, 'num'],
        ['oldest due', (row) => formatDay(row.oldest_due_on), 'num'],
        ['office', (row) => row.field_offices],
        ['supervisor', (row) => row.supervisor_name],
      ],
    }),
    rest > 0 &&
      html`<p class="note">
        The other ${formatCount(rest)} ${rest === 1 ? 'is' : 'are'} ${others.join(' or ')}:
        ${listLocation(report, 'overdue-by-person')}.
      </p>`,
    table({
      caption: 'Overdue for longest',
      rows: longestOverdue,
      columns: [
        ['follow-up', (row) => followupName(report, row)],
        ['with', (row) => linkedPerson(report, row.assignee_name, row.assignee_id)],
        ['due', (row) => formatDay(row.due_on), 'num spare'],
        ['days overdue', (row) => row.days_overdue, 'num'],
      ],
      remark: (row) => describeMessages(report, row),
    }),
    restOf(report, 'overdue-followups', total - longestOverdue.length),
  ];
}

/** null: no follow-up is overdue. */
export function overdueSection(report: ShownReport): Section | null {
  const late = countOf(report, 'overdue');
  if (late === 0) return null;
  const open = countOf(report, 'open') + late;
  return streamSection(report, {
    id: 'overdue',
    title: 'Overdue',
    stream: 'followups',
    hasRows: true,
    lead: `${formatCount(late)} of ${formatNumber(open, 'open follow-up')} ${late === 1 ? 'is' : 'are'} overdue; the oldest was due on ${formatDay(oldestDueOf(report))}.`,
    body: () => overdueBody(report),
  });
}

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
    rows.map(({ date, status, followups: value }) => ({
      date,
      series: status === 'open' ? 'not yet due' : status,
      value,
    })),
  );
}

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

const SHOWN_MONTHS = 24;
/** A month with more open follow-ups than this is dashed, because its closed ones are only the quick ones. */
const MOST_OPEN = 0.2;

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

function byForm(report: ShownReport): HtmlValue {
  const { timeToCloseByForm: rows } = report.answers;
  const slowest = (days: number | null) => inDays(days === null ? null : Math.round(days));
  return [
    table({
      caption: 'By form',
      rows,
      columns: [
        ['form', (row) => labelOf(row.form_label, row.form_id, 'form')],
        ['raised', (row) => row.raised, 'num'],
        ['still open', (row) => row.still_open, 'num'],
        ['half closed within', (row) => inDays(row.median_days), 'num'],
        ['nine in ten within', (row) => slowest(row.slowest_tenth_days), 'num spare'],
      ],
    }),
    firstOf(report, 'followups-by-form', rows.length, 10),
  ];
}

function handedOn(report: ShownReport): HtmlValue {
  const { mostHandedOn: rows } = report.answers;
  if (rows.length === 0) return empty('No open follow-up was handed on more than once.');
  return [
    table({
      caption: 'Open, and handed on most often',
      rows,
      columns: [
        ['follow-up', (row) => followupName(report, row)],
        ['now with', (row) => linkedPerson(report, row.assignee_name, row.assignee_id)],
        ['handed on', (row) => `${formatCount(row.reassignment_count)} times`, 'num'],
        ['due', (row) => formatDay(row.due_on), 'num'],
      ],
      remark: (row) => describeMessages(report, row),
    }),
    firstOf(report, 'open-followups', rows.length, 5),
  ];
}

export function followupsSection(report: ShownReport): Section {
  const late = countOf(report, 'overdue');
  const open = countOf(report, 'open') + late;
  const of = late === 0 ? ' and none of them is overdue' : `, ${formatCount(late)} of them overdue`;
  return streamSection(report, {
    id: 'followups',
    title: 'Follow-ups',
    stream: 'followups',
    hasRows: report.answers.followupsNow.length > 0,
    lead: `${formatNumber(open, 'follow-up')} ${open === 1 ? 'is' : 'are'} open${of}.`,
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
