/**
 * The expected rows of the views, computed from the service's responses in plain TypeScript. Cells are text, days
 * YYYY-MM-DD.
 */
import type { ExpectedRow, ExpectedTables } from './source-rows.ts';
import type { Cell } from './source-wire.ts';

export type ViewRow = Record<string, string | null>;

const DAY_MS = 86_400_000;

const dayFormats = new Map<string, Intl.DateTimeFormat>();

/** The day of a moment, and conversions between days and numbers. */
export function dayOf(ms: Cell, timezone: string): string | null {
  if (ms === null) return null;
  const format =
    dayFormats.get(timezone) ??
    // The Swedish date format equals ISO's.
    new Intl.DateTimeFormat('sv-SE', { timeZone: timezone, dateStyle: 'short' });
  dayFormats.set(timezone, format);
  return format.format(Number(ms));
}
export const dayNumber = (day: string): number => Date.parse(`${day}T00:00:00Z`) / DAY_MS;
export const toDay = (number: number): string => new Date(number * DAY_MS).toISOString().slice(0, 10);

const dashed = (day: Cell): string | null =>
  typeof day === 'string' ? `${day.slice(0, 4)}-${day.slice(4, 6)}-${day.slice(6)}` : null;
const between = (from: string | null, to: string | null): string | null =>
  from === null || to === null ? null : String(dayNumber(to) - dayNumber(from));
/** A span of days is never negative, even if a device's clock is ahead. */
const spanOf = (from: string | null, to: string | null): string | null => {
  const days = between(from, to);
  return days === null ? null : String(Math.max(0, Number(days)));
};
const text = (cell: Cell | undefined): string | null =>
  cell === null || cell === undefined ? null : String(cell);
const elements = (cell: Cell | undefined): string[] =>
  typeof cell === 'string' ? (JSON.parse(cell) as (string | number)[]).map(String) : [];

function texts(row: ExpectedRow, ...names: string[]): ViewRow {
  return Object.fromEntries(names.map((name) => [name, text(row[name])]));
}

interface Today {
  readonly timezone: string;
  readonly today: string;
}

export function expectedViews(tables: ExpectedTables, { timezone, today }: Today): Record<string, ViewRow[]> {
  const of = (table: string): ExpectedRow[] => tables[table] ?? [];
  const names = new Map(of('users').map((user) => [user['id'], text(user['name'])]));
  const nameOf = (id: Cell | undefined): string | null => names.get(id ?? null) ?? null;
  const each = (table: string, key: string, column: string) =>
    of(table).flatMap((row) => elements(row[column]).map((one) => ({ key: text(row[key]), one })));
  const equipment = new Map(of('equipment').map((row) => [row['id'], row]));
  const resources = new Map(of('resources').map((row) => [row['id'], row]));
  const versions: ViewRow[] = of('resource_versions').map((version) => ({
    ...texts(
      version,
      'resource_id',
      'ordinal',
      'is_current',
      'version',
      'type',
      'file',
      'link',
      'size',
      'creator_id',
    ),
    title: text(resources.get(version['resource_id'] ?? null)?.['title']),
    creator_name: nameOf(version['creator_id']),
    created_on: dayOf(version['created_at'] ?? null, timezone),
    approved_on: dayOf(version['approved_at'] ?? null, timezone),
  }));
  return {
    resource_tags: each('resources', 'id', 'tags').map(({ key, one }) => ({ resource_id: key, tag: one })),
    equipment_field_offices: each('equipment', 'id', 'field_office_ids').map(({ key, one }) => ({
      equipment_id: key,
      field_office_id: one,
    })),
    equipment_clients: each('equipment', 'id', 'client_ids').map(({ key, one }) => ({
      equipment_id: key,
      client_id: one,
    })),
    equipment_projects: each('equipment', 'id', 'project_ids').map(({ key, one }) => ({
      equipment_id: key,
      project_id: one,
    })),
    equipment_assigned_users: each('equipment', 'id', 'assigned_user_ids').map(({ key, one }) => ({
      equipment_id: key,
      user_id: one,
    })),
    equipment_fields: of('equipment_metavalues').map((row) => {
      const owner = equipment.get(row['equipment_id'] ?? null) ?? {};
      return {
        ...texts(row, 'equipment_id', 'metafield_id', 'number_value', 'text_value'),
        ...texts(owner, 'title', 'equipment_type_id'),
        is_empty: String(['number_value', 'text_value', 'item_ids'].every((one) => row[one] === null)),
      };
    }),
    resource_version_overview: versions,
    current_resource_versions: versions
      .filter((version) => version['is_current'] === 'true')
      .map((version) =>
        Object.fromEntries(Object.entries(version).filter(([name]) => name !== 'is_current')),
      ),
    followup_overview: of('followups').map((row) => {
      const messages = of('followup_messages').filter((message) => message['followup_id'] === row['id']);
      const sent = messages.flatMap((message) =>
        message['sent_at'] == null ? [] : [Number(message['sent_at'])],
      );
      const responses = messages.flatMap((message) =>
        message['sent_at'] == null || message['user_id'] === row['observer_id']
          ? []
          : [Number(message['sent_at'])],
      );
      const due = dashed(row['due_on'] ?? null);
      const created = dayOf(row['created_at'] ?? null, timezone);
      return {
        ...texts(row, 'id', 'form_id', 'is_open', 'observer_id', 'assignee_id', 'field_id', 'display_id'),
        observer_name: nameOf(row['observer_id']),
        assigner_name: nameOf(row['assigner_id']),
        assignee_name: nameOf(row['assignee_id']),
        completer_name: nameOf(row['completer_id']),
        is_overdue: String(row['is_open'] === true && due !== null && due < today),
        age_days: row['is_open'] === true ? spanOf(created, today) : null,
        resolved_on: row['is_open'] === true ? null : dayOf(row['resolved_at'] ?? null, timezone),
        days_to_resolve:
          row['is_open'] === true ? null : spanOf(created, dayOf(row['resolved_at'] ?? null, timezone)),
        message_count: String(messages.length),
        reassignment_count: String(
          messages.filter((message) => (message['reassignee_id'] ?? '') !== '').length,
        ),
        last_message_at: sent.length === 0 ? null : String(Math.max(...sent)),
        first_response_at: responses.length === 0 ? null : String(Math.min(...responses)),
      };
    }),
    training_compliance: of('training_employee_status').map((row) => {
      const compliant: Record<string, string> = { active: 'true', expiring: 'true', incomplete: 'false' };
      const expiries = of('training_completions')
        .filter((one) => one['user_id'] === row['user_id'] && one['is_required'] !== false)
        .map((one) => dashed(one['expires_on'] ?? null))
        .filter((day) => day !== null && day >= today);
      return {
        ...texts(row, 'user_id', 'status'),
        user_name: nameOf(row['user_id']),
        is_compliant: compliant[String(row['status'])] ?? null,
        complete_count: String(elements(row['complete_training_ids']).length),
        incomplete_count: String(elements(row['incomplete_training_ids']).length),
        next_expires_on: expiries.toSorted()[0] ?? null,
      };
    }),
    equipment_inspections: of('equipment_schedules').map((row) => {
      const owner = equipment.get(row['equipment_id'] ?? null) ?? {};
      return {
        ...texts(row, 'equipment_id', 'schedule_id', 'status', 'expires_at'),
        ...texts(owner, 'serial_number', 'equipment_type_id', 'is_in_service'),
        equipment_status: text(owner['status']),
        days_until_expiry: between(today, dayOf(row['expires_at'] ?? null, timezone)),
      };
    }),
  };
}
