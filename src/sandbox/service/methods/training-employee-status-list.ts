import type { Completion, Employee } from '../../records.ts';
import { employeeAt, hasTrainings } from '../../store/status-rules.ts';
import { toPage } from '../paging.ts';
import { aBoolean, aPage, type Checked, type Method, numbers, texts, wholeNumber } from '../method.ts';

const MAX_LIMIT = 1000;

const rules = {
  training_ids: numbers,
  m_user_ids: texts,
  limit: wholeNumber(1, MAX_LIMIT),
  page: aPage,
  include_all_completions: aBoolean,
};
type TrainingParameters = Checked<typeof rules>;

export const trainingEmployeeStatusList: Method = {
  rules: () => rules,
  respond(parameters, { store, readings }) {
    const asked = parameters as TrainingParameters;
    const { lastUpdated, employees } = store.trainingCalculation();
    const selected = selectEmployees(employees, asked, lastUpdated);
    const asks = Math.min(asked.limit ?? MAX_LIMIT, readings.largestPage ?? MAX_LIMIT);
    const { page = 1 } = asked;
    const { paging, range } = toPage(selected.length, asks, page, readings);
    return {
      fields: {
        last_updated: lastUpdated,
        ...(readings.trainingPaging === 'present' ? { paging: { ...paging, page } } : {}),
      },
      list: {
        name: 'employees',
        kind: 'employee',
        records: selected.slice(...range),
        shape: asked.include_all_completions === true ? (record) => record : withRequiredCompletionsOnly,
      },
    };
  },
};

/**
 * The specification does not show how `training_ids` filters. Here: the employee is sent with these trainings only, and
 * omitted if none of them applies.
 */
function selectEmployees(
  employees: readonly Employee[],
  asked: TrainingParameters,
  at: number,
): readonly Employee[] {
  const users = asked.m_user_ids === undefined ? undefined : new Set(asked.m_user_ids);
  const trainings = asked.training_ids === undefined ? undefined : new Set(asked.training_ids);
  let selected = employees;
  if (users !== undefined) selected = selected.filter((employee) => users.has(employee.m_user_id));
  if (trainings !== undefined) {
    selected = selected
      // A planted record without its lists matches no training.
      .filter(hasTrainings)
      .map((employee) => employeeAt(restrictTo(employee, trainings), at))
      .filter((employee) => employee.status !== 'unassigned' || employee.last_completed.length > 0);
  }
  return selected;
}

function restrictTo(employee: Employee, trainings: ReadonlySet<number>): Employee {
  return {
    ...employee,
    incomplete_training_ids: employee.incomplete_training_ids.filter((id) => trainings.has(id)),
    complete_training_ids: employee.complete_training_ids.filter((id) => trainings.has(id)),
    last_completed: employee.last_completed.filter((entry) => trainings.has(entry.id)),
  };
}

/** Planted records may have any value in `last_completed`; other values than lists are sent unchanged. */
function withRequiredCompletionsOnly(record: object): object {
  const { last_completed: entries } = record as { last_completed?: unknown };
  if (!Array.isArray(entries)) return record;
  const required = entries
    .filter((entry: Partial<Completion> | null) => entry?.is_required !== false)
    .map((entry: Partial<Completion> | null) => {
      if (typeof entry !== 'object' || entry === null) return entry;
      return Object.fromEntries(Object.entries(entry).filter(([field]) => field !== 'is_required'));
    });
  return { ...record, last_completed: required };
}
