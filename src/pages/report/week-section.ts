/** Tasks of the next seven days, by person. */
import { html, type Html, type HtmlValue } from '../html.ts';
import { formatCount, formatNumber } from '../../shared/format.ts';
import { dayAfter, formatWeekday, labelOf } from '../words.ts';
import { outOfDateOf } from './equipment-section.ts';
import { countOf } from './overdue-section.ts';
import type { Report } from './read-report.ts';
import { linked, linkedPerson, placeOf, type ShownReport } from './shown-report.ts';
import { describeMessages } from './describe-messages.ts';
import { empty, type Section } from './section.ts';
import { choosePeople, type Load, tasksOf } from './week-people.ts';
import { SHOWN_TASKS } from './questions/week-questions.ts';

interface Task {
  readonly day: string;
  readonly what: HtmlValue;
  readonly isInspection: boolean;
}

interface Person {
  readonly name: HtmlValue;
  /** The first tasks, which are shown. */
  readonly tasks: readonly Task[];
  /** The number of tasks. */
  readonly count: number;
}

const UNASSIGNED = 'Not assigned';

function tasksByPerson(report: ShownReport): Map<string, Task[]> {
  const { answers, today } = report;
  const people = new Map<string, Task[]>();
  const add = (id: string | null, task: Task): void => {
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

function renderPerson({ name, tasks, count }: Person): Html {
  const shown = tasks
    .toSorted((one, other) => Number(one.isInspection) - Number(other.isInspection))
    .slice(0, SHOWN_TASKS)
    .toSorted((one, other) => one.day.localeCompare(other.day));
  const rest = count - shown.length;
  const rows = [
    ...shown.map(({ day, what }) => [formatWeekday(day), what] as const),
    ...(rest > 0
      ? [['', html`<span class="dim">and ${formatNumber(rest, 'more task')}</span>`] as const]
      : []),
  ];
  return html`<tbody>
    ${rows.map(
      ([day, what], at) =>
        html`<tr>
          ${at === 0 && html`<th scope="rowgroup" rowspan="${rows.length}">${name}</th>`}
          <td class="when">${day}</td>
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

const sumOf = (people: readonly Load[], of: 'followups' | 'trainings' | 'inspections'): number =>
  people.reduce((sum, load) => sum + load[of], 0);

function describeOthers(people: readonly Load[]): string {
  const parts = (
    [
      ['follow-up', 'followups'],
      ['training', 'trainings'],
      ['inspection', 'inspections'],
    ] as const
  )
    .map(([noun, of]) => ({ noun, count: sumOf(people, of) }))
    .filter(({ count }) => count > 0)
    .map(({ noun, count }) => formatNumber(count, noun));
  const hidden = people.length === 1 ? '1 more person' : `${formatCount(people.length)} more people`;
  return `Not shown: ${hidden} with ${parts.join(', ')}`;
}

/** Notes on the list, because its sums may differ from those of the sentence above it. */
function notesOf(report: ShownReport, others: readonly Load[]): HtmlValue[] {
  const { answers } = report;
  const overdue = countOf(report, 'overdue');
  const { expired } = outOfDateOf(report);
  const late = [
    ...(overdue > 0 ? [formatNumber(overdue, 'overdue follow-up')] : []),
    ...(expired > 0 ? [`${formatNumber(expired, 'piece')} of expired equipment`] : []),
  ];
  return [
    ...(others.length > 0 ? [html`${describeOthers(others)}: ${placeOf(report, 'this-week')}.`] : []),
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
  const people = shown.map((load): Person => ({
    name: load.user_id === '' ? UNASSIGNED : linkedPerson(report, load.user_name, load.user_id),
    tasks: tasks.get(load.user_id) ?? [],
    count: tasksOf(load),
  }));
  const notes = notesOf(report, others);
  const body = html`<p class="lead">${lead(report)}</p>
    ${
      people.length === 0
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
              ${people.map(renderPerson)}
            </table>
          </div>`
    }
    ${notes.length > 0 && html`<p class="note">${notes.map((note) => [note, ' '])}</p>`}`;
  return { id: 'week', title: 'This week', body };
}
