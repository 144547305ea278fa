import { html, type Html } from '../html.ts';
import { table } from '../table.ts';
import { formatCount, formatNumber } from '../../shared/format.ts';
import type { Series } from '../chart-kit.ts';
import type { Report } from './read-report.ts';
import { bars, weekColumns } from './bar-charts.ts';
import { empty, type Section, streamSection } from './section.ts';
import { firstOf, linkedPerson, restOf, type ShownReport } from './shown-report.ts';
import { statusTrend } from './time-charts.ts';
import { dayAfter, dayNumber, formatDay, formatShare, labelOf, mondayOf } from '../words.ts';

/** Sorted by urgency. */
const STATUSES: readonly Series[] = [
  { name: 'incomplete', color: 'var(--bad)' },
  { name: 'expiring', color: 'var(--warn)' },
  { name: 'active', color: 'var(--good)' },
  { name: 'unassigned', color: 'var(--none)' },
];
/** Days covered by the table below; the chart shows their weeks. */
const EXPIRY_DAYS = 90;

export interface Share {
  readonly count: number;
  readonly whole: number;
}

/** Counts employees with all required trainings, and employees with any. */
export function trainedOf(
  rows: readonly { readonly status: string | null; readonly employees: number }[],
): Share {
  const of = (...statuses: string[]) =>
    rows
      .filter(({ status }) => status !== null && statuses.includes(status))
      .reduce((sum, { employees }) => sum + employees, 0);
  return { count: of('active', 'expiring'), whole: of('active', 'expiring', 'incomplete') };
}

/** Includes statuses that are new at the service. */
function seriesOf(statuses: readonly string[]): Series[] {
  const others = [...new Set(statuses)].filter((one) => !STATUSES.some(({ name }) => name === one));
  return [...STATUSES, ...others.map((name) => ({ name, color: 'var(--dim)' }))];
}

function now({ answers }: Report): Html {
  const rows = answers.trainingNow.map(({ status, employees }) => ({
    status: status ?? 'unknown',
    employees,
  }));
  const shown = seriesOf(rows.map(({ status }) => status)).flatMap(({ name, color }) => {
    const row = rows.find(({ status }) => status === name);
    return row === undefined ? [] : [{ label: name, color, value: row.employees }];
  });
  return bars(
    {
      title: 'Employees by status',
      note: 'Incomplete: at least one assigned training is missing or has lapsed. Expiring: all are complete, and one lapses soon. Active: all are complete. Unassigned: no training is needed.',
    },
    shown,
  );
}

function gaps(report: ShownReport): Html {
  const { gapsByEmployee, gapsByTraining, trainingNow } = report.answers;
  if (gapsByEmployee.length === 0) return empty('No employee lacks a required training.');
  const incomplete = trainingNow.find(({ status }) => status === 'incomplete')?.employees ?? 0;
  const rest = incomplete - gapsByEmployee.length;
  return html`${table({
    caption: 'By training',
    rows: gapsByTraining,
    columns: [
      { title: 'training', cell: (row) => labelOf(row.training_label, row.training_id, 'training') },
      { title: 'never done', isNumber: true, cell: (row) => formatCount(row.missing) },
      { title: 'lapsed', isNumber: true, cell: (row) => formatCount(row.expired) },
      { title: 'needed by', isNumber: true, cell: (row) => formatCount(row.needed_by) },
    ],
  })}
  ${firstOf(report, 'lacking-by-training', { shown: gapsByTraining.length, most: 10 })}
  ${table({
    caption: 'By employee, those who lack the most first',
    rows: gapsByEmployee,
    columns: [
      { title: 'employee', cell: (row) => linkedPerson(report, row.user_name, row.user_id) },
      { title: 'trainings', cell: (row) => row.trainings },
      { title: 'lacking', isNumber: true, cell: (row) => formatCount(row.lacking) },
    ],
  })}
  ${restOf(report, 'lacking-trainings', { count: rest, what: ' who are incomplete' })}`;
}

function lapsing(report: ShownReport): Html {
  const { answers, today } = report;
  const [in30, in90] = [30, 90].map((within) => answers.lapsing.find(({ days }) => days === within));
  if (in90 === undefined || in90.trainings === 0) return empty('No training lapses in the next 90 days.');
  const first = mondayOf(today);
  const count = Math.ceil((dayNumber(today) - dayNumber(first) + EXPIRY_DAYS) / 7);
  const weeks = Array.from({ length: count }, (_, week) => {
    const monday = dayAfter(first, 7 * week);
    return { monday, value: answers.lapsingByWeek.find((row) => row.week === monday)?.trainings ?? 0 };
  });
  return html`${weekColumns(
    {
      title: 'Trainings that lapse, by the week that begins on Monday',
      label: `${formatNumber(in30?.trainings ?? 0, 'training')} in the next 30 days, ${formatCount(in90.trainings)} in the next 90.`,
      note: (weeks[0]?.value ?? 0) > 0 ? 'Dashed: what is left of this week.' : undefined,
    },
    weeks,
  )}
  ${table({
    caption: 'In the next days',
    rows: answers.lapsing,
    columns: [
      { title: 'within', cell: (row) => `${row.days} days` },
      { title: 'trainings', isNumber: true, cell: (row) => formatCount(row.trainings) },
      { title: 'employees', isNumber: true, cell: (row) => formatCount(row.employees) },
      { title: 'required', isNumber: true, cell: (row) => formatCount(row.required) },
    ],
  })}
  ${table({
    caption: 'The next ones',
    rows: answers.lapsingNext,
    columns: [
      { title: 'employee', cell: (row) => linkedPerson(report, row.user_name, row.user_id) },
      {
        title: 'training',
        cell: (row) =>
          html`${labelOf(row.training_label, row.training_id, 'training')}
          ${row.is_required === false && html`<span class="dim">(not required)</span>`}`,
      },
      { title: 'lapses on', isNumber: true, cell: (row) => formatDay(row.expires_on) },
    ],
  })}
  ${restOf(report, 'lapsing-trainings', { count: in90.trainings - answers.lapsingNext.length, what: ' in the next 90 days' })}`;
}

export function trainingSection(report: ShownReport): Section {
  const trained = trainedOf(report.answers.trainingNow);
  const days = report.answers.trainingByDay;
  return streamSection(report, {
    id: 'training',
    title: 'Training',
    stream: 'training-employee-status',
    hasRows: report.answers.trainingNow.length > 0,
    lead: `${formatCount(trained.count)} of ${formatNumber(trained.whole, 'employee')} who need training have completed all of it (${formatShare(trained.count, trained.whole)}).`,
    body: () => [
      now(report),
      html`<h3>Missing trainings</h3>`,
      gaps(report),
      statusTrend({
        title: 'Employees by status at the end of each day',
        series: seriesOf(days.map(({ status }) => status)),
        values: days.map(({ date, status, employees }) => ({ date, series: status, value: employees })),
      }),
      html`<h3>Lapsing soon</h3>`,
      lapsing(report),
    ],
  });
}
