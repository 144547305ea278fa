import { formatCount, formatNumber } from '../../shared/format.ts';
import { html, type Html, type HtmlValue } from '../html.ts';
import { table } from '../table.ts';
import { dayAfter, dayNumber, formatDay, formatShare, labelOf, mondayOf, sumOf } from '../words.ts';
import { bars, type Series, weekColumns } from './charts.ts';
import type { Report } from './read-report.ts';
import { empty, type Section, streamSection } from './section.ts';
import { firstOf, linkedPerson, restOf, type ShownReport } from './shown-report.ts';
import { statusTrend } from './time-charts.ts';

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
    sumOf(
      rows.filter(({ status }) => status !== null && statuses.includes(status)),
      'employees',
    );
  return { count: of('active', 'expiring'), whole: of('active', 'expiring', 'incomplete') };
}

/** Includes statuses that are new at the service. */
function seriesOf(rows: readonly { readonly status: string }[]): Series[] {
  const statuses = new Set(rows.map(({ status }) => status));
  const others = [...statuses].filter((one) => !STATUSES.some(({ name }) => name === one));
  return [...STATUSES, ...others.map((name) => ({ name, color: 'var(--dim)' }))];
}

function now({ answers }: Report): Html {
  const rows = answers.trainingNow.map((row) => ({ ...row, status: row.status ?? 'unknown' }));
  const shown = seriesOf(rows).flatMap(({ name: label, color }) =>
    rows.filter(({ status }) => status === label).map((row) => ({ label, color, value: row.employees })),
  );
  return bars(
    {
      title: 'Employees by status',
      note: 'Incomplete: at least one assigned training is missing or has lapsed. Expiring: all are complete, and one lapses soon. Active: all are complete. Unassigned: no training is needed.',
    },
    shown,
  );
}

function gaps(report: ShownReport): HtmlValue {
  const { gapsByEmployee, gapsByTraining, trainingNow } = report.answers;
  if (gapsByEmployee.length === 0) return empty('No employee lacks a required training.');
  const incomplete = trainingNow.find(({ status }) => status === 'incomplete')?.employees ?? 0;
  return [
    table({
      caption: 'By training',
      rows: gapsByTraining,
      columns: [
        ['training', (row) => labelOf(row.training_label, row.training_id, 'training')],
        ['never done', (row) => row.missing, 'num'],
        ['lapsed', (row) => row.expired, 'num'],
        ['needed by', (row) => row.needed_by, 'num'],
      ],
    }),
    firstOf(report, 'lacking-by-training', gapsByTraining.length, 10),
    table({
      caption: 'By employee, those who lack the most first',
      rows: gapsByEmployee,
      columns: [
        ['employee', (row) => linkedPerson(report, row.user_name, row.user_id)],
        ['trainings', (row) => row.trainings],
        ['lacking', (row) => row.lacking, 'num'],
      ],
    }),
    restOf(report, 'lacking-trainings', incomplete - gapsByEmployee.length, ' who are incomplete'),
  ];
}

function lapsing(report: ShownReport): HtmlValue {
  const { answers, today } = report;
  const [in30, in90] = [30, 90].map((within) => answers.lapsing.find(({ days }) => days === within));
  if (in90 === undefined || in90.trainings === 0) return empty('No training lapses in the next 90 days.');
  const first = mondayOf(today);
  const count = Math.ceil((dayNumber(today) - dayNumber(first) + EXPIRY_DAYS) / 7);
  const weeks = Array.from({ length: count }, (_, week) => {
    const monday = dayAfter(first, 7 * week);
    return { monday, value: answers.lapsingByWeek.find((row) => row.week === monday)?.trainings ?? 0 };
  });
  return [
    weekColumns(
      {
        title: 'Trainings that lapse, by the week that begins on Monday',
        label: `${formatNumber(in30?.trainings ?? 0, 'training')} in the next 30 days, ${formatCount(in90.trainings)} in the next 90.`,
        note: (weeks[0]?.value ?? 0) > 0 ? 'Dashed: what is left of this week.' : undefined,
      },
      weeks,
    ),
    table({
      caption: 'In the next days',
      rows: answers.lapsing,
      columns: [
        ['within', (row) => `${row.days} days`],
        ['trainings', (row) => row.trainings, 'num'],
        ['employees', (row) => row.employees, 'num'],
        ['required', (row) => row.required, 'num'],
      ],
    }),
    table({
      caption: 'The next ones',
      rows: answers.lapsingNext,
      columns: [
        ['employee', (row) => linkedPerson(report, row.user_name, row.user_id)],
        [
          'training',
          (row) =>
            html`${labelOf(row.training_label, row.training_id, 'training')}
            ${row.is_required === false && html`<span class="dim">(not required)</span>`}`,
        ],
        ['lapses on', (row) => formatDay(row.expires_on), 'num'],
      ],
    }),
    restOf(report, 'lapsing-trainings', in90.trainings - answers.lapsingNext.length, ' in the next 90 days'),
  ];
}

export function trainingSection(report: ShownReport): Section {
  const { trainingNow, trainingByDay: days } = report.answers;
  const { count, whole } = trainedOf(trainingNow);
  return streamSection(report, {
    id: 'training',
    title: 'Training',
    stream: 'training-employee-status',
    hasRows: trainingNow.length > 0,
    lead: `${formatCount(count)} of ${formatNumber(whole, 'employee')} who need training have completed all of it (${formatShare(count, whole)}).`,
    body: () => [
      now(report),
      html`<h3>Missing trainings</h3>`,
      gaps(report),
      statusTrend(
        'Employees by status at the end of each day',
        seriesOf(days),
        days.map(({ date, status, employees: value }) => ({ date, series: status, value })),
      ),
      html`<h3>Lapsing soon</h3>`,
      lapsing(report),
    ],
  });
}
