import { html, type Html } from '../html.ts';
import { table } from '../table.ts';
import { formatCount, formatNumber } from '../../shared/format.ts';
import type { Report } from './read-report.ts';
import { stackedBars } from './bar-charts.ts';
import type { Pen } from './draw.ts';
import { empty, section } from './section.ts';
import { statusTrend } from './time-charts.ts';
import { formatDayOf } from '../words.ts';

const STATUSES: Readonly<Record<string, { name: string; color: string; onColor: string }>> = {
  expired: { name: 'expired', color: 'var(--bad)', onColor: 'var(--on-bad)' },
  expiring: { name: 'expiring', color: 'var(--warn)', onColor: 'var(--on-warn)' },
  uptodate: { name: 'up to date', color: 'var(--good)', onColor: 'var(--on-good)' },
};

const nameOf = (status: string): string => STATUSES[status]?.name ?? status;

function seriesOf(statuses: readonly string[]) {
  const others = [...new Set(statuses)].filter((status) => !(status in STATUSES));
  const strange = others.map((name) => ({ name, color: 'var(--none)', onColor: 'var(--text)' }));
  const known = Object.entries(STATUSES).filter(([status]) => statuses.includes(status));
  return [...known.map(([, series]) => series), ...strange];
}

/** In service: with an expired inspection, and all. */
export function outOfDateOf({ answers }: Report): { expired: number; inService: number } {
  const sum = (rows: Report['answers']['equipmentByType']) =>
    rows.reduce((total, { equipment }) => total + equipment, 0);
  const rows = answers.equipmentByType;
  return { expired: sum(rows.filter(({ status }) => status === 'expired')), inService: sum(rows) };
}

function byType({ answers }: Report, pen: Pen): Html {
  const rows = answers.equipmentByType;
  const types = [...new Set(rows.map((row) => row.equipment_type_id))];
  const count = (type: string | null, status: string) =>
    rows.find((row) => row.equipment_type_id === type && row.status === status)?.equipment ?? 0;
  const label = types
    .map((type) => `type ${type ?? 'none'}: ${formatCount(count(type, 'expired'))} expired`)
    .join('; ');
  return stackedBars(
    pen,
    { title: 'Equipment in service by type', label },
    seriesOf(rows.map(({ status }) => status)),
    rows.map(({ equipment_type_id: type, status, equipment }) => ({
      row: `type ${type ?? 'none'}`,
      series: nameOf(status),
      value: equipment,
    })),
  );
}

function longestExpired({ answers, timezone }: Report): Html {
  if (answers.longestExpired.length === 0)
    return empty('No equipment in service has an expired inspection with a date.');
  return table(
    'Expired inspections of equipment in service, longest first',
    [
      { title: 'equipment' },
      { title: 'serial number', isSpare: true },
      { title: 'type', isSpare: true },
      { title: 'inspection' },
      { title: 'days expired', isNumber: true },
      { title: 'last done', isNumber: true, isSpare: true },
    ],
    answers.longestExpired.map((row) => [
      row.title ?? row.equipment_id,
      row.serial_number,
      row.equipment_type_id,
      row.schedule_id,
      formatCount(row.days_expired),
      formatDayOf(row.last_completed_at, timezone),
    ]),
  );
}

export function equipmentSection(report: Report, pen: Pen): Html {
  const { expired, inService } = outOfDateOf(report);
  const days = report.answers.equipmentByDay;
  return section(report, {
    id: 'equipment',
    title: 'Equipment',
    stream: 'equipments',
    hasRows: inService > 0 || days.length > 0,
    lead:
      expired === 0
        ? `All ${formatNumber(inService, 'piece')} in service have valid inspections.`
        : `${formatCount(expired)} of ${formatNumber(inService, 'piece')} in service ${expired === 1 ? 'has' : 'have'} an expired inspection.`,
    body: () => [
      inService > 0 && byType(report, pen),
      html`<h3>Trend</h3>`,
      statusTrend(pen, {
        title: 'Equipment in service by status at the end of each day',
        countsStandIn: 'chart',
        series: seriesOf(days.map(({ status }) => status)),
        values: days.map(({ date, status, in_service: value }) => ({ date, series: nameOf(status), value })),
      }),
      html`<h3>In service without a valid inspection</h3>`,
      longestExpired(report),
    ],
  });
}
