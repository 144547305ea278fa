/** The first rows of some of the report's lists, in a terminal. */
import { type Cell, isDay, titleOf } from '../../pages/report/cells.ts';
import { type ListName, LISTS } from '../../pages/report/lists.ts';
import type { Report } from '../../pages/report/read-report.ts';
import { formatDay } from '../../pages/words.ts';
import { renderRows } from '../table.ts';
import type { Colors } from '../terminal.ts';

const MOST_ROWS = 5;
const SHOWN: readonly (readonly [ListName, columns: string])[] = [
  ['expired-inspections', 'title schedule_label days_expired field_offices responsible_name'],
  ['people', 'user_name due_now overdue_followups lacking_trainings field_office supervisor_name'],
  ['overdue-followups', 'form_label responsible_name due_on days_overdue'],
  ['lacking-trainings', 'user_name lacking field_office supervisor_name'],
];

const textOf = (column: string, cell: Cell): string =>
  isDay(column) ? formatDay(cell as string | null) : String(cell ?? '–');

export function renderAnswers({ lists }: Pick<Report, 'lists'>, colors: Colors): string {
  const answers = SHOWN.map(([name, columns]) => {
    const rows = lists[name].rows.slice(0, MOST_ROWS);
    const shown = columns.split(' ').map((column) => ({
      title: titleOf(column),
      align: typeof rows[0]?.[column] === 'number' ? ('right' as const) : ('left' as const),
      cellOf: (row: (typeof rows)[number]) => textOf(column, row[column] ?? null),
    }));
    return `${colors.bold(LISTS[name].title)}\n${indent(rows.length === 0 ? 'nobody and nothing' : renderRows(rows, shown, { colors }))}`;
  });
  return answers.join('\n\n');
}

export const indent = (text: string): string => text.replace(/^(?=.)/gm, '  ');
