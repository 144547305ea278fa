/** A few of the report's questions, answered in a terminal. */
import { formatDay, formatDays, formatShare, personOf } from '../../pages/words.ts';
import { ask } from '../../pages/report/questions/question.ts';
import { QUESTIONS } from '../../pages/report/questions/questions.ts';
import { formatCount } from '../../shared/format.ts';
import type { Database } from '../../engine/database/connection.ts';
import { type ColumnOf, renderRows } from '../table.ts';
import type { Colors } from '../terminal.ts';

const { equipmentByType, overdueByAssignee, lapsingNext, trainingNow } = QUESTIONS;

const MOST_ROWS_SHOWN = 5;

const right = <Row>(title: string, cellOf: (row: Row) => string): ColumnOf<Row> => ({
  title,
  align: 'right',
  cellOf,
});

export async function renderAnswers(db: Database, accountId: string, colors: Colors): Promise<string> {
  const asked = { overdueByAssignee, trainingNow, lapsingNext, equipmentByType };
  const answers = await ask(db, asked, { accountId });
  const equipment = answers.equipmentByType;
  const employees = answers.trainingNow.reduce((sum, row) => sum + row.employees, 0);
  const types = [...new Set(equipment.map((row) => row.equipment_type_id))].map((type) => {
    const rows = equipment.filter((row) => row.equipment_type_id === type);
    const all = rows.reduce((sum, row) => sum + row.equipment, 0);
    const expired = rows.find((row) => row.status === 'expired')?.equipment ?? 0;
    return { label: rows[0]?.equipment_type_label, all, expired };
  });
  function render<Row>(title: string, rows: readonly Row[], columns: readonly ColumnOf<Row>[]): string {
    const shown = rows.slice(0, MOST_ROWS_SHOWN);
    const answer = rows.length === 0 ? 'nobody and nothing' : renderRows(shown, columns, { colors });
    return `${colors.bold(title)}\n${indent(answer)}`;
  }
  return [
    render('Who has the most overdue follow-ups?', answers.overdueByAssignee, [
      { title: 'assignee', cellOf: (row) => personOf(row.assignee_name, row.assignee_id) },
      right('overdue', (row) => formatCount(row.overdue)),
      right('oldest due', (row) => formatDay(row.oldest_due_on)),
    ]),
    render('How is the workforce trained?', answers.trainingNow, [
      { title: 'status', cellOf: (row) => row.status ?? 'unknown' },
      right('employees', (row) => formatCount(row.employees)),
      right('share', (row) => formatShare(row.employees, employees)),
      right('average complete', (row) => `${formatDays(row.average_percent)} %`),
    ]),
    render('Which trainings lapse next, and whose?', answers.lapsingNext, [
      { title: 'employee', cellOf: (row) => personOf(row.user_name, row.user_id) },
      { title: 'training', cellOf: (row) => row.training_label },
      right('expires', (row) => formatDay(row.expires_on)),
    ]),
    render('What is the status of equipment in service, by type?', types, [
      { title: 'type', cellOf: ({ label }) => label ?? '–' },
      right('in service', ({ all }) => formatCount(all)),
      right('expired', ({ expired }) => formatCount(expired)),
      right('share', ({ expired, all }) => formatShare(expired, all)),
    ]),
  ].join('\n\n');
}

export function indent(text: string): string {
  return text.replace(/^(?=.)/gm, '  ');
}
