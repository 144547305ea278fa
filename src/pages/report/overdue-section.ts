/** Overdue follow-ups: their ages, their assignees, and the longest overdue ones. */
import { html, type Html } from '../html.ts';
import { table } from '../table.ts';
import { formatCount, formatNumber } from '../../shared/format.ts';
import { bars } from './bar-charts.ts';
import { describeMessages } from './describe-messages.ts';
import type { Report } from './read-report.ts';
import { type Section, streamSection } from './section.ts';
import { linked, linkedPerson, listLocation, restOf, type ShownReport } from './shown-report.ts';
import { formatDay, labelOf } from '../words.ts';

export function countOf({ answers }: Report, status: string): number {
  return answers.followupsNow.find((row) => row.status === status)?.followups ?? 0;
}

export const oldestDueOf = ({ answers }: Report): string | null =>
  answers.overdueByAge.map((row) => row.oldest_due_on).toSorted()[0] ?? null;

/** The groups of `overdueByAge`, which numbers them from 1, as do their colours. */
const AGES = ['up to a week', '8 to 30 days', '31 to 90 days', 'over 90 days'];

/** The label of the form and the follow-up's own id, to find it in the service. */
export function followupName(
  report: ShownReport,
  row: { readonly form_id: string | null; readonly form_label: string | null; readonly id: string },
): Html {
  const form = labelOf(row.form_label, row.form_id, 'form');
  return html`${form} ${linked(report, 'followup', row.id, html`<code>${row.id}</code>`)}`;
}

function body(report: ShownReport): Html {
  const { answers, today } = report;
  const { overdueByAge, overdueByAssignee, longestOverdue, peopleWithOverdue } = answers;
  const ages = AGES.map((label, at) => ({
    label,
    color: `var(--age${at + 1})`,
    value: overdueByAge.find((row) => row.age === at + 1)?.overdue ?? 0,
  }));
  const total = ages.reduce((sum, { value }) => sum + value, 0);
  const held = overdueByAssignee.reduce((sum, row) => sum + row.overdue, 0);
  const named = overdueByAssignee.filter(({ assignee_id: id }) => id !== null).length;
  const others = (peopleWithOverdue[0]?.people ?? 0) - named;
  const rest =
    total > held
      ? html`<p class="note">
          The other ${formatCount(total - held)} are with ${formatCount(others)} more people:
          ${listLocation(report, 'overdue-by-person')}.
        </p>`
      : null;
  const more = total - longestOverdue.length;
  const longest = html`${table({
    caption: 'Overdue for longest',
    rows: longestOverdue,
    columns: [
      { title: 'follow-up', cell: (row) => followupName(report, row) },
      { title: 'with', cell: (row) => linkedPerson(report, row.assignee_name, row.assignee_id) },
      { title: 'due', isNumber: true, isSpare: true, cell: (row) => formatDay(row.due_on) },
      { title: 'days overdue', isNumber: true, cell: (row) => formatCount(row.days_overdue) },
    ],
    streamRemark: (row) => describeMessages(row, today),
  })}
  ${restOf(report, 'overdue-followups', { count: more })}`;
  return html`${bars({ title: 'For how long they have been overdue' }, ages)}
  ${table({
    caption: 'Who has the most overdue',
    rows: overdueByAssignee,
    columns: [
      { title: 'assignee', cell: (row) => linkedPerson(report, row.assignee_name, row.assignee_id) },
      { title: 'overdue', isNumber: true, cell: (row) => formatCount(row.overdue) },
      { title: 'over 30 days', isNumber: true, cell: (row) => formatCount(row.over_a_month) },
      { title: 'oldest due', isNumber: true, cell: (row) => formatDay(row.oldest_due_on) },
    ],
  })}
  ${rest} ${longest}`;
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
    body: () => body(report),
  });
}
