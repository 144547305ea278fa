/** Tasks of the next seven days, by person. */
import { html, type Html, type HtmlValue } from '../html.ts';
import { formatCount, formatNumber } from '../../shared/format.ts';
import { dayAfter, formatWeekday, labelOf } from '../words.ts';
import { outOfDateOf } from './equipment-section.ts';
import { countOf } from './overdue-section.ts';
import type { Report } from './read-report.ts';
import { linked, linkedPerson, listLocation, type ShownReport } from './shown-report.ts';
import { describeMessages } from './describe-messages.ts';
import { empty, type Section } from './section.ts';
import { choosePeople, type PersonLoad, tasksOf } from './week-people.ts';
import { SHOWN_TASKS } from './questions/week-questions.ts';

interface WeekTask {
  readonly day: string;
  readonly what: HtmlValue;
  readonly isInspection: boolean;
}

function tasksByPerson(report: ShownReport): Map<string, WeekTask[]> {
  const { answers, today } = report;
  const people = new Map<string, WeekTask[]>();
  const add = (id: string | null, task: WeekTask): void => {
    people.set(id ?? '', [...(people.get(id ?? '') ?? []), task]);
  };
  for (const row of answers.dueSoon) {
    const what = html`<b>${labelOf(row.form_label, row.form_id, 'form')}:</b> follow-up
      ${linked(report, 'followup', row.id, html`<code>${row.id}</code>`)} is due.
      ${describeMessages(row, today)}`;
    add(row.assignee_id, { day: row.due_on, what, isInspection: false });
  }
  for (const row of answers.lapsingThisWeek) {
    const what = html`<b>${labelOf(row.training_label, row.training_id, 'training')}</b> (training) lapses.`;
    add(row.user_id, { day: row.expires_on, what, isInspection: false });
  }
  for (const row of answers.expiringThisWeek) {
    const { inspections, equipment } = row;
    const type = labelOf(row.equipment_type_label, row.equipment_type_id, 'type');
    const schedule = labelOf(row.schedule_label, row.schedule_id, 'inspection');
    const which = inspections === 1 ? equipment : `${formatCount(inspections)} pieces: ${equipment}, …`;
    const what = html`<b>${schedule}</b> expires: ${type} (${which}).`;
    add(row.user_id, { day: row.expires_on, what, isInspection: true });
  }
  return people;
}

/** The person of a load with the first tasks. */
function renderPerson(report: ShownReport, load: PersonLoad, tasks: readonly WeekTask[]): Html {
  const { user_id: id, user_name: name } = load;
  const shown = tasks
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
  const [week] = answers.lastWeek;
  const { raised = 0, closed = 0, in_time: inTime = 0, due = 0 } = week ?? {};
  const reopened = answers.reopenedLately[0]?.reopened ?? 0;
  const inspections = answers.inspections[0]?.expiring ?? 0;
  const lapsing = answers.lapsing.find(({ days }) => days === 7)?.required ?? 0;
  return (
    `In the last seven days ${formatNumber(raised, 'follow-up')} ${raised === 1 ? 'was' : 'were'} raised and ` +
    `${formatCount(closed)} closed, ${formatCount(inTime)} of them by their due day` +
    `${reopened === 0 ? '' : `; ${formatCount(reopened)} that had been closed ${reopened === 1 ? 'is' : 'are'} open again`}. In the next seven days ` +
    `${formatNumber(due, 'follow-up')} ${due === 1 ? 'falls' : 'fall'} due, ${formatNumber(lapsing, 'required training')} ` +
    `${lapsing === 1 ? 'lapses' : 'lapse'}, ${formatNumber(inspections, 'inspection')} ${inspections === 1 ? 'expires' : 'expire'}.`
  );
}

const sumOf = (people: readonly PersonLoad[], of: 'followups' | 'trainings' | 'inspections'): number =>
  people.reduce((sum, load) => sum + load[of], 0);

function describeOthers(people: readonly PersonLoad[]): string {
  const nouns = { followups: 'follow-up', trainings: 'training', inspections: 'inspection' } as const;
  const kinds = (['followups', 'trainings', 'inspections'] as const)
    .map((of) => ({ count: sumOf(people, of), noun: nouns[of] }))
    .filter(({ count }) => count > 0)
    .map(({ count, noun }) => formatNumber(count, noun));
  const hidden = people.length === 1 ? '1 more person' : `${formatCount(people.length)} more people`;
  return `Not shown: ${hidden} with ${kinds.join(', ')}`;
}

/** Notes on the list, because its sums may differ from those of the sentence above it. */
function notesOf(report: ShownReport, others: readonly PersonLoad[]): HtmlValue[] {
  const { answers } = report;
  const overdue = countOf(report, 'overdue');
  const { expired } = outOfDateOf(report);
  const late = [
    ...(overdue > 0 ? [formatNumber(overdue, 'overdue follow-up')] : []),
    ...(expired > 0 ? [`${formatNumber(expired, 'piece')} of expired equipment`] : []),
  ];
  return [
    ...(others.length > 0 ? [html`${describeOthers(others)}: ${listLocation(report, 'this-week')}.`] : []),
    ...(sumOf(answers.weekByPerson, 'inspections') > (answers.inspections[0]?.expiring ?? 0)
      ? ['An inspection of equipment with several responsible people is listed for each of them.']
      : []),
    ...(late.length > 0 ? [`Late tasks are in lists of their own: ${late.join(', ')}.`] : []),
  ];
}

/** null: none of the streams was synced yet. */
export function weekSection(report: ShownReport): Section | null {
  const { answers, today } = report;
  const isKnown =
    answers.followupsNow.length > 0 || answers.trainingNow.length > 0 || answers.equipmentByType.length > 0;
  if (!isKnown) return null;
  const { shown, others } = choosePeople(answers.weekByPerson);
  const tasks = tasksByPerson(report);
  const notes = notesOf(report, others);
  const body = html`<p class="lead">${lead(report)}</p>
    ${
      shown.length === 0
        ? empty('Nothing is due in the next seven days.')
        : html`<div class="scroll">
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
              ${shown.map((load) => renderPerson(report, load, tasks.get(load.user_id) ?? []))}
            </table>
          </div>`
    }
    ${notes.length > 0 && html`<p class="note">${notes.map((note) => [note, ' '])}</p>`}`;
  return { id: 'week', title: 'This week', body };
}
