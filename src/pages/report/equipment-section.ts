import { html, type Html } from '../html.ts';
import { table } from '../table.ts';
import { formatCount, formatNumber } from '../../shared/format.ts';
import type { Report } from './read-report.ts';
import { stackedBars } from './bar-charts.ts';
import { empty, type Section, streamSection } from './section.ts';
import { firstOf, linked, linkedPerson, restOf, type ShownReport } from './shown-report.ts';
import { statusTrend } from './time-charts.ts';
import { formatDay, formatMoment, formatShare, labelOf } from '../words.ts';

const STATUSES: Readonly<Record<string, { name: string; color: string; onColor: string }>> = {
  expired: { name: 'expired', color: 'var(--bad)', onColor: 'var(--on-bad)' },
  expiring: { name: 'expiring', color: 'var(--warn)', onColor: 'var(--on-warn)' },
  uptodate: { name: 'up to date', color: 'var(--good)', onColor: 'var(--on-good)' },
};

const statusName = (status: string): string => STATUSES[status]?.name ?? status;

function seriesOf(statuses: readonly string[]) {
  const others = [...new Set(statuses)].filter((status) => !(status in STATUSES));
  const strange = others.map((name) => ({ name, color: 'var(--none)', onColor: 'var(--text)' }));
  const known = Object.entries(STATUSES).filter(([status]) => statuses.includes(status));
  return [...known.map(([, series]) => series), ...strange];
}

/** Equipment in service: count with an expired inspection, and total. */
export function outOfDateOf({ answers }: Report): { expired: number; inService: number } {
  const sum = (rows: Report['answers']['equipmentByType']) =>
    rows.reduce((total, { equipment }) => total + equipment, 0);
  const rows = answers.equipmentByType;
  return { expired: sum(rows.filter(({ status }) => status === 'expired')), inService: sum(rows) };
}

function byType({ answers: { equipmentByType: rows } }: Report): Html {
  const nameOfType = (row: (typeof rows)[number]) =>
    labelOf(row.equipment_type_label, row.equipment_type_id, 'type');
  const types = [...new Set(rows.map(nameOfType))].map((name) => ({
    name,
    segments: rows
      .filter((row) => nameOfType(row) === name)
      .map(({ status, equipment }) => ({ series: statusName(status), value: equipment })),
  }));
  const expired = types.map(({ name, segments }) => {
    const counts = segments.map(({ series, value }) => (series === 'expired' ? value : 0));
    const count = counts.reduce((sum, value) => sum + value, 0);
    return `${name}: ${formatCount(count)} expired`;
  });
  return stackedBars(
    { title: 'Equipment in service by type', label: expired.join('; ') },
    seriesOf(rows.map(({ status }) => status)),
    types,
  );
}

function responsible(
  report: ShownReport,
  people: readonly { readonly user_id: string; readonly user_name: string | null }[],
): Html {
  if (people.length === 0) return html`not assigned`;
  return html`${people.map((one, at) => [at > 0 && ', ', linkedPerson(report, one.user_name, one.user_id)])}`;
}

function longestExpired(report: ShownReport): Html {
  const { longestExpired: rows, inspections } = report.answers;
  if (rows.length === 0) return empty('No equipment in service has an expired inspection with a date.');
  const rest = (inspections[0]?.expired ?? 0) - rows.length;
  return html`${table({
    caption: 'Of equipment in service, longest expired first',
    rows,
    columns: [
      {
        title: 'equipment',
        cell: (row) =>
          html`${row.title ?? labelOf(row.equipment_type_label, row.equipment_type_id, 'type')}
          ${linked(report, 'equipment', row.equipment_id, html`<code>${row.serial_number ?? row.equipment_id}</code>`)}`,
      },
      { title: 'inspection', cell: (row) => labelOf(row.schedule_label, row.schedule_id, 'inspection') },
      { title: 'responsible', cell: (row) => responsible(report, row.responsible) },
      { title: 'last done', isNumber: true, isSpare: true, cell: (row) => formatDay(row.last_completed_on) },
      {
        title: 'days expired',
        isNumber: true,
        cell: (row) => (row.days_expired === 0 ? 'today' : formatCount(row.days_expired)),
      },
    ],
  })}
  ${restOf(report, 'expired-inspections', { count: rest })}`;
}

function byOffice(report: ShownReport): Html | null {
  const { equipmentByOffice: offices } = report.answers;
  if (offices.length === 0) return null;
  return html`${table({
    caption: 'By field office, the most expired first',
    rows: offices,
    columns: [
      {
        title: 'field office',
        cell: (row) => labelOf(row.field_office_label, row.field_office_id, 'office'),
      },
      { title: 'expired', isNumber: true, cell: (row) => formatCount(row.expired) },
      { title: 'in service', isNumber: true, cell: (row) => formatCount(row.in_service) },
      { title: 'share', isNumber: true, cell: (row) => formatShare(row.expired, row.in_service) },
    ],
  })}
  ${firstOf(report, 'equipment-by-office', { shown: offices.length, most: 12 })}`;
}

/** Equipment that the key figures count although no run reads it any more. */
function notRead({ unread, timezone }: Report): Html | false {
  if (unread.length === 0) return false;
  const types = unread.map(({ partition, live, readAtMs }) => {
    const since =
      readAtMs === null ? 'not known when last read' : `last read ${formatMoment(readAtMs, timezone)}`;
    return `type ${partition} (${formatNumber(live, 'piece')}, ${since})`;
  });
  return html`<p class="note">
    Counted as it was then, because it is not read any more: equipment of ${types.join(', ')}.
  </p>`;
}

export function equipmentSection(report: ShownReport): Section {
  const { expired, inService } = outOfDateOf(report);
  const days = report.answers.equipmentByDay;
  return streamSection(report, {
    id: 'equipment',
    title: 'Equipment',
    stream: 'equipments',
    hasRows: inService > 0 || days.length > 0,
    lead:
      expired === 0
        ? `All ${formatNumber(inService, 'piece')} in service have valid inspections.`
        : `${formatCount(expired)} of ${formatNumber(inService, 'piece')} in service ${expired === 1 ? 'has' : 'have'} an expired inspection.`,
    body: () => [
      notRead(report),
      inService > 0 && byType(report),
      byOffice(report),
      statusTrend({
        title: 'Equipment in service by status at the end of each day',
        series: seriesOf(days.map(({ status }) => status)),
        values: days.map(({ date, status, in_service: value }) => ({
          date,
          series: statusName(status),
          value,
        })),
      }),
      html`<h3>Expired inspections</h3>`,
      longestExpired(report),
    ],
  });
}
