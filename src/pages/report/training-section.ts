import { html, type Html } from '../html.ts';
import { table } from '../table.ts';
import { formatCount, formatNumber } from '../../shared/format.ts';
import type { Report } from './read-report.ts';
import { bars, weekColumns } from './bar-charts.ts';
import { HALF, type Pen } from './draw.ts';
import { empty, section } from './section.ts';
import { statusTrend } from './time-charts.ts';
import { formatDay, formatShare, personOf } from '../words.ts';

/** In the order in which they want attention. */
const STATUSES = [
  { status: 'incomplete', color: 'var(--bad)' },
  { status: 'expiring', color: 'var(--warn)' },
  { status: 'active', color: 'var(--good)' },
  { status: 'unassigned', color: 'var(--none)' },
] as const;
const WEEKS = 13;

/** Trained, and those who need training at all. */
export function trainedOf({ answers }: Report): { trained: number; needed: number } {
  const of = (...statuses: string[]) =>
    answers.trainingNow
      .filter(({ status }) => status !== null && statuses.includes(status))
      .reduce((sum, { employees }) => sum + employees, 0);
  return { trained: of('active', 'expiring'), needed: of('active', 'expiring', 'incomplete') };
}

/** Also statuses that are new at the service. */
function seriesOf(statuses: readonly string[]): { name: string; color: string }[] {
  const known = STATUSES.map(({ status, color }) => ({ name: status, color: color }));
  const others = [...new Set(statuses)].filter((one) => !known.some(({ name }) => name === one));
  return [...known, ...others.map((name) => ({ name, color: 'var(--dim)' }))];
}

function now({ answers }: Report, pen: Pen): Html {
  const rows = answers.trainingNow.map((row) => ({ ...row, status: row.status ?? 'unknown' }));
  const total = rows.reduce((sum, { employees }) => sum + employees, 0);
  const ordered = seriesOf(rows.map(({ status }) => status)).flatMap(({ name, color }) => {
    const row = rows.find(({ status }) => status === name);
    return row === undefined
      ? []
      : [{ label: name, color, value: row.employees, average: row.average_percent }];
  });
  return html`<div class="two">
    ${bars(
      pen,
      {
        title: 'Employees by status',
        label: ordered.map(({ label, value }) => `${label}: ${formatCount(value)}`).join('; '),
      },
      ordered.map((row) => ({ ...row, remark: formatShare(row.value, total) })),
      HALF,
    )}
    ${table(
      'How far they are',
      [
        { title: 'status' },
        { title: 'employees', isNumber: true },
        { title: 'done on average', isNumber: true },
      ],
      ordered.map(({ label, value, average }) => [
        label,
        formatCount(value),
        average === null ? '–' : `${Math.round(average)} %`,
      ]),
    )}
  </div>`;
}

function lapsing({ answers, today }: Report, pen: Pen): Html {
  const [in30, , in90] = answers.lapsing;
  if (in90 === undefined || in90.trainings === 0) return empty('No training lapses in the next 90 days.');
  const weeks = Array.from(
    { length: WEEKS },
    (_, week) => answers.lapsingByWeek.find((row) => row.week === week)?.trainings ?? 0,
  );
  return html`${weekColumns(
      pen,
      {
        title: 'Trainings that lapse, by the week that begins on',
        label: `${formatNumber(in30?.trainings ?? 0, 'training')} in the next 30 days, ${formatCount(in90.trainings)} in the next 90.`,
      },
      today,
      weeks,
    )}
    <div class="two">
      ${table(
        'In the next days',
        [
          { title: 'within' },
          { title: 'trainings', isNumber: true },
          { title: 'employees', isNumber: true },
          { title: 'required', isNumber: true },
        ],
        answers.lapsing.map((row) => [
          `${row.days} days`,
          formatCount(row.trainings),
          formatCount(row.employees),
          formatCount(row.required),
        ]),
      )}
      ${table(
        'The next ones',
        [
          { title: 'employee' },
          { title: 'training', isNumber: true },
          { title: 'lapses on', isNumber: true },
        ],
        answers.lapsingNext.map((row) => [
          personOf(row.user_name, row.user_id),
          String(row.training_id),
          formatDay(row.expires_on),
        ]),
      )}
    </div>`;
}

export function trainingSection(report: Report, pen: Pen): Html {
  const { trained, needed } = trainedOf(report);
  const days = report.answers.trainingByDay;
  return section(report, {
    id: 'training',
    title: 'Training',
    stream: 'training-employee-status',
    hasRows: report.answers.trainingNow.length > 0,
    lead: `${formatCount(trained)} of ${formatNumber(needed, 'employee')} who need training have all of it (${formatShare(trained, needed)}).`,
    body: () => [
      now(report, pen),
      html`<h3>Trend</h3>`,
      statusTrend(pen, {
        title: 'Employees by status at the end of each day',
        countsStandIn: 'table',
        series: seriesOf(days.map(({ status }) => status)),
        values: days.map(({ date, status, employees }) => ({ date, series: status, value: employees })),
      }),
      html`<h3>About to lapse</h3>`,
      lapsing(report, pen),
    ],
  });
}
