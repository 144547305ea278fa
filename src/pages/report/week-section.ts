/** Tasks of the next seven days, by person. */
import { formatCount, formatNumber } from '../../shared/format.ts';
import { html, type Html, type HtmlValue } from '../html.ts';
import { dayAfter, formatWeekday, labelOf, sumOf } from '../words.ts';
import { outOfDateOf, typeOf } from './equipment-section.ts';
import { countOf, describeMessages } from './followups-section.ts';
import { choosePeople, type PersonLoad, SHOWN_TASKS, tasksOf } from './questions/week-questions.ts';
import type { Report } from './read-report.ts';
import { empty, type Section } from './section.ts';
import { linked, linkedPerson, listLocation, type ShownReport } from './shown-report.ts';

interface WeekTask {
  /** Empty: no assignee. */
  readonly userId: string;
  readonly day: string;
  readonly what: HtmlValue;
  readonly isInspection: boolean;
}

function tasksOfWeek(report: ShownReport): WeekTask[] {
  const { dueSoon, lapsingThisWeek, expiringThisWeek } = report.answers;
  return [
    ...dueSoon.map((row) => ({
      userId: row.assignee_id ?? '',
      day: row.due_on,
      what: html`<b>${labelOf(row.form_label, row.form_id, 'form')}:</b> follow-up
        ${linked(report, 'followup', row, html`<code>${row.id}</code>`)} is due.
        ${describeMessages(report, row)}`,
      isInspection: false,
    })),
    ...lapsingThisWeek.map((row) => ({
      userId: row.user_id,
      day: row.expires_on,
      what: html`<b>${labelOf(row.training_label, row.training_id, 'training')}</b> (training) lapses.`,
      isInspection: false,
    })),
    ...expiringThisWeek.map((row) => {
      const { inspections: count, equipment } = row;
      const schedule = labelOf(row.schedule_label, row.schedule_id, 'inspection');
      const which = count === 1 ? equipment : `${formatCount(count)} pieces: ${equipment}, …`;
      return {
        userId: row.user_id ?? '',
        day: row.expires_on,
        what: html`<b>${schedule}</b> expires: ${typeOf(row)} (${which}).`,
        isInspection: true,
      };
    }),
  ];
}

/** The person of a load with the first ones of their tasks. */
function renderPerson(report: ShownReport, load: PersonLoad, tasks: readonly WeekTask[]): Html {
  const { user_id: id, user_name: name } = load;
  const shown = tasks
    .filter(({ userId }) => userId === id)
    .toSorted((one, other) => Number(one.isInspection) - Number(other.isInspection))
    .slice(0, SHOWN_TASKS)
    .toSorted((one, other) => one.day.localeCompare(other.day))
    .map(({ day, what }) => ({ when: formatWeekday(day), what }));
  const rest = tasksOf(load) - shown.length;
  const more = html`<span class="dim">and ${formatNumber(rest, 'more task')}</span>`;
  const rows = rest > 0 ? [...shown, { when: '', what: more }] : shown;
  const who = id === '' ? 'Not assigned' : linkedPerson(report, name, id);
  return html`<tbody>
    ${rows.map(
      ({ when, what }, at) =>
        html`<tr>
          ${at === 0 && html`<th scope="rowgroup" rowspan="${rows.length}">${who}</th>`}
          <td class="when">${when}</td>
          <td>${what}</td>
        </tr>`,
    )}
  </tbody>`;
}

function lead({ answers }: Report): string {
  const { raised, closed, in_time: inTime, due } = answers.lastWeek[0];
  const [{ reopened }] = answers.reopenedLately;
  const [{ expiring }] = answers.inspections;
  const lapsing = answers.lapsing.find(({ days }) => days === 7)?.required ?? 0;
  const again = `; ${formatCount(reopened)} that had been closed ${reopened === 1 ? 'is' : 'are'} open again`;
  return (
    `In the last seven days ${formatNumber(raised, 'follow-up')} ${raised === 1 ? 'was' : 'were'} raised and ` +
    `${formatCount(closed)} closed, ${formatCount(inTime)} of them by their due day${reopened === 0 ? '' : again}. In the next seven days ` +
    `${formatNumber(due, 'follow-up')} ${due === 1 ? 'falls' : 'fall'} due, ${formatNumber(lapsing, 'required training')} ` +
    `${lapsing === 1 ? 'lapses' : 'lapse'}, ${formatNumber(expiring, 'inspection')} ${expiring === 1 ? 'expires' : 'expire'}.`
  );
}

function describeOthers(people: readonly PersonLoad[]): string {
  const kinds = [
    { count: sumOf(people, 'followups'), noun: 'follow-up' },
    { count: sumOf(people, 'trainings'), noun: 'training' },
    { count: sumOf(people, 'inspections'), noun: 'inspection' },
  ]
    .filter(({ count }) => count > 0)
    .map(({ count, noun }) => formatNumber(count, noun));
  const hidden = people.length === 1 ? '1 more person' : `${formatCount(people.length)} more people`;
  return `Not shown: ${hidden} with ${kinds.join(', ')}`;
}

/** Notes on the list, because its sums may differ from those of the sentence above it. */
function notesOf(report: ShownReport, others: readonly PersonLoad[]): HtmlValue[] {
  const { weekByPerson, inspections } = report.answers;
  const overdue = countOf(report, 'overdue');
  const { expired } = outOfDateOf(report);
  const late = [
    overdue > 0 && formatNumber(overdue, 'overdue follow-up'),
    expired > 0 && `${formatNumber(expired, 'piece')} of expired equipment`,
  ].filter((text) => text !== false);
  return [
    others.length > 0 && html`${describeOthers(others)}: ${listLocation(report, 'this-week')}.`,
    sumOf(weekByPerson, 'inspections') > inspections[0].expiring &&
      'An inspection of equipment with several responsible people is listed for each of them.',
    late.length > 0 && `Late tasks are in lists of their own: ${late.join(', ')}.`,
  ].filter((note) => note !== false);
}

/** null: none of the streams was synced yet. */
export function weekSection(report: ShownReport): Section | null {
  const { answers, today } = report;
  const known = [answers.followupsNow, answers.trainingNow, answers.equipmentByType];
  if (known.every(({ length }) => length === 0)) return null;
  const { shown, others } = choosePeople(answers.weekByPerson);
  const tasks = tasksOfWeek(report);
  const notes = notesOf(report, others);
  const list = html`<div class="scroll">
    <table class="people">
      <caption>
        To do from ${formatWeekday(today)} to ${formatWeekday(dayAfter(today, 6))}
      </caption>
      <thead>
        <tr>
          <th scope="col">who</th>
          <th scope="col">by</th>
          <th scope="col">what</th>
        </tr>
      </thead>
      ${shown.map((load) => renderPerson(report, load, tasks))}
    </table>
  </div>`;
  const body = html`<p class="lead">${lead(report)}</p>
    ${shown.length === 0 ? empty('Nothing is due in the next seven days.') : list}
    ${notes.length > 0 && html`<p class="note">${notes.map((note) => [note, ' '])}</p>`}`;
  return { id: 'week', title: 'This week', body };
}
