import * as z from 'zod';
import type { Completion, Employee } from '../../records.ts';
import { employeeAt, hasTrainings } from '../../store/status-rules.ts';
import { method, toPage, wholeNumber } from '../method.ts';

const rules = {
  training_ids: z.array(z.number()).optional(),
  m_user_ids: z.array(z.string()).optional(),
  limit: wholeNumber(1000),
  page: wholeNumber(),
  include_all_completions: z.boolean().optional(),
};

export const trainingEmployeeStatusList = method(rules, (asked, { store, readings }) => {
  const { lastUpdated, employees } = store.trainingCalculation();
  const { training_ids: trainings, m_user_ids: users, page = 1 } = asked;
  let selected = employees.filter(({ m_user_id: id }) => users?.includes(id) ?? true);
  if (trainings !== undefined) {
    selected = selected
      // A planted record without its lists matches no training.
      .filter(hasTrainings)
      .map((employee) => employeeAt(restrictTo(employee, trainings), lastUpdated))
      .filter((employee) => employee.status !== 'unassigned' || employee.last_completed.length > 0);
  }
  const { paging, records } = toPage(selected, { limit: asked.limit ?? 1000, page }, readings);
  return {
    fields: {
      last_updated: lastUpdated,
      ...(readings.trainingPaging === 'present' && { paging: { ...paging, page } }),
    },
    list: {
      name: 'employees',
      records: asked.include_all_completions === true ? records : records.map(withRequiredCompletionsOnly),
    },
  };
});

/**
 * The specification does not show how `training_ids` filters. Here: the employee is sent with these trainings only, and
 * omitted if none of them applies.
 */
const restrictTo = (employee: Employee, trainings: readonly number[]): Employee => ({
  ...employee,
  incomplete_training_ids: employee.incomplete_training_ids.filter((id) => trainings.includes(id)),
  complete_training_ids: employee.complete_training_ids.filter((id) => trainings.includes(id)),
  last_completed: employee.last_completed.filter((entry) => trainings.includes(entry.id)),
});

/** Planted records may have any value in `last_completed`; other values than lists are sent unchanged. */
function withRequiredCompletionsOnly(record: Employee): object {
  const { last_completed: entries } = record as { last_completed?: unknown };
  if (!Array.isArray(entries)) return record;
  const required = (entries as (Completion | null)[])
    .filter((entry) => entry?.is_required !== false)
    .map((entry) =>
      typeof entry === 'object' && entry !== null
        ? Object.fromEntries(Object.entries(entry).filter(([field]) => field !== 'is_required'))
        : entry,
    );
  return { ...record, last_completed: required };
}
