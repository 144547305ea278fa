/** Rows of the report's lists as cells, and the words for their columns. */
import type { SQL } from 'drizzle-orm';
import { capital } from '../../shared/format.ts';
import type { Readable } from './statement.ts';

export type Cell = string | number | boolean | null;
export type Row = Readonly<Record<string, Cell>>;

export type Rows = Readonly<Awaited<ReturnType<typeof fetchRows>>>;

/** Types that PostgreSQL sends as text: bigint and numeric. */
const NUMBER_TYPES = [20, 1700];

/** Numbers have two decimals at most; ids stay texts. */
export async function fetchRows(db: Readable, statement: SQL) {
  const found = await db.execute(statement);
  const toCell = (value: unknown, name: string, type: number): Cell => {
    const isNumber = typeof value === 'number' || (value !== null && NUMBER_TYPES.includes(type));
    return isNumber && !name.endsWith('id') ? Math.round(Number(value) * 100) / 100 : (value as Cell);
  };
  return {
    columns: found.columns.map(({ name }) => name),
    rows: found.map((row) =>
      Object.fromEntries(
        found.columns.map(({ name, type }) => [name, toCell(row[name] ?? null, name, type)]),
      ),
    ),
  };
}

const WORDS: Readonly<Record<string, string>> = {
  about: 'About',
  area_kind: 'Kind',
  category_label: 'Category',
  compliant: 'Fully trained',
  due_in_a_week: 'Due in a week',
  field_offices: 'Offices',
  field_office: 'Office',
  id: 'Id',
  is_compliant: 'Fully trained',
  needing_training: 'Need training',
  percent_done_in_time: 'Done in time, %',
  percent_compliant: 'Fully trained, %',
  percent_complete: 'Complete, %',
  resource_id: 'Document id',
  responsible_name: 'With',
  schedule_id: 'Inspection id',
  schedule_label: 'Inspection',
  title: 'Name',
  user_id: 'Person id',
  user_name: 'Person',
};

/** For example `Days overdue` for `days_overdue`, `Due` for `due_on`, `Form` for `form_label`. */
export function titleOf(column: string): string {
  const text = column
    .replace(/^is_|_(?:on|name|label)$/g, '')
    .replaceAll('_', ' ')
    .replace('followup', 'follow-up');
  return WORDS[column] ?? capital(text);
}

export const isDay = (column: string): boolean => column.endsWith('_on');
