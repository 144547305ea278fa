/** A few questions of a safety manager, answered by SQL over the warehouse. */
import type { Connection } from '../warehouse/connection.ts';
import { type Column, type Colors, renderTable } from './terminal.ts';

interface Question {
  readonly title: string;
  readonly columns: readonly Column[];
  readonly sql: string;
}

const right = (title: string): Column => ({ title, align: 'right' });

const QUESTIONS: readonly Question[] = [
  {
    title: 'Who has the most overdue follow-ups?',
    columns: [{ title: 'assignee' }, right('overdue'), right('oldest due')],
    sql: `select coalesce(u.name, f.assignee_id) as assignee, count(*)::text as overdue, min(f.due_on)::text as oldest
      from safety.followups f left join safety.users u on u.account_id = f.account_id and u.id = f.assignee_id
      where f._deleted_at is null and f.is_open and f.due_on < current_date
      group by 1 order by count(*) desc, 1 limit 5`,
  },
  {
    title: 'How is the workforce trained?',
    columns: [{ title: 'status' }, right('employees'), right('average complete')],
    sql: `select status, count(*)::text as employees, round(avg(percent_complete))::text || ' %' as average
      from safety.training_employee_status where _deleted_at is null group by 1 order by count(*) desc`,
  },
  {
    title: 'Whose training runs out within 60 days?',
    columns: [{ title: 'employee' }, right('training'), right('expires')],
    sql: `select coalesce(u.name, c.user_id) as employee, c.training_id::text as training, c.expires_on::text as expires
      from safety.training_completions c
      join safety.training_employee_status s on s.account_id = c.account_id and s.user_id = c.user_id
      left join safety.users u on u.account_id = c.account_id and u.id = c.user_id
      where s._deleted_at is null and c.expires_on between current_date and current_date + 60
      order by c.expires_on, 1, 2 limit 5`,
  },
  {
    title: 'Which equipment is in service without a valid inspection?',
    columns: [{ title: 'type' }, right('in service'), right('expired'), right('longest expired')],
    sql: `select e.equipment_type_id as type, count(distinct e.id)::text as in_service,
        count(distinct e.id) filter (where e.status = 'expired')::text as expired,
        coalesce(max(current_date - s.expires_at::date) filter (where s.status = 'expired'), 0)::text || ' days' as longest
      from safety.equipment e
      left join safety.equipment_schedules s on s.account_id = e.account_id and s.equipment_id = e.id
      where e._deleted_at is null and e.is_in_service group by 1 order by 1`,
  },
];

export async function renderAnswers(connection: Connection, colors: Colors): Promise<string> {
  const parts: string[] = [];
  for (const { title, columns, sql } of QUESTIONS) {
    const rows = await connection.query<Record<string, string | null>>(sql);
    const cells = rows.map((row) => Object.values(row).map((value) => value ?? '–'));
    parts.push(`${colors.bold(title)}\n${indent(renderTable(columns, cells, { colors }))}`);
  }
  return parts.join('\n\n');
}

export function indent(text: string): string {
  return text.replace(/^(?=.)/gm, '  ');
}
