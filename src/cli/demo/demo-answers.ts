/** A few of the report's questions, answered in a terminal. */
import { formatDay, formatDays, formatShare, personOf } from '../../pages/words.ts';
import { ask } from '../../pages/report/questions/question.ts';
import { QUESTIONS } from '../../pages/report/questions/questions.ts';
import { formatCount } from '../../shared/format.ts';
import type { Database } from '../../engine/database/connection.ts';
import { type Column, type Colors, renderTable } from '../terminal.ts';

const { equipmentByType, overdueByAssignee, lapsingNext, trainingNow } = QUESTIONS;

const SHOWN = 5;
const right = (title: string): Column => ({ title, align: 'right' });

interface Answer {
  readonly title: string;
  readonly columns: readonly Column[];
  readonly rows: readonly (readonly string[])[];
}

async function readAnswers(db: Database, accountId: string): Promise<Answer[]> {
  const overdue = await ask(db, overdueByAssignee, { accountId });
  const trained = await ask(db, trainingNow, { accountId });
  const lapsing = await ask(db, lapsingNext, { accountId });
  const equipment = await ask(db, equipmentByType, { accountId });
  const employees = trained.reduce((sum, row) => sum + row.employees, 0);
  const types = [...new Set(equipment.map((row) => row.equipment_type_id))];
  return [
    {
      title: overdueByAssignee.title,
      columns: [{ title: 'assignee' }, right('overdue'), right('oldest due')],
      rows: overdue.map((row) => [
        personOf(row.assignee_name, row.assignee_id),
        formatCount(row.overdue),
        formatDay(row.oldest_due_on),
      ]),
    },
    {
      title: trainingNow.title,
      columns: [{ title: 'status' }, right('employees'), right('share'), right('average complete')],
      rows: trained.map((row) => [
        row.status ?? 'unknown',
        formatCount(row.employees),
        formatShare(row.employees, employees),
        `${formatDays(row.average_percent)} %`,
      ]),
    },
    {
      title: lapsingNext.title,
      columns: [{ title: 'employee' }, { title: 'training' }, right('expires')],
      rows: lapsing.map((row) => [
        personOf(row.user_name, row.user_id),
        row.training_label,
        formatDay(row.expires_on),
      ]),
    },
    {
      title: equipmentByType.title,
      columns: [{ title: 'type' }, right('in service'), right('expired'), right('share')],
      rows: types.map((type) => {
        const rows = equipment.filter((row) => row.equipment_type_id === type);
        const all = rows.reduce((sum, row) => sum + row.equipment, 0);
        const expired = rows.find((row) => row.status === 'expired')?.equipment ?? 0;
        return [
          rows[0]?.equipment_type_label ?? '–',
          formatCount(all),
          formatCount(expired),
          formatShare(expired, all),
        ];
      }),
    },
  ];
}

export async function renderAnswers(db: Database, accountId: string, colors: Colors): Promise<string> {
  const answers = await readAnswers(db, accountId);
  return answers
    .map(({ title, columns, rows }) => {
      const answer =
        rows.length === 0 ? 'nobody and nothing' : renderTable(columns, rows.slice(0, SHOWN), { colors });
      return `${colors.bold(title)}\n${indent(answer)}`;
    })
    .join('\n\n');
}

export function indent(text: string): string {
  return text.replace(/^(?=.)/gm, '  ');
}
