import { formatCount, formatNumber } from '../../shared/format.ts';
import { groupBy } from '../../shared/group-by.ts';
import { html, type Html, type HtmlValue } from '../html.ts';
import { table } from '../table.ts';
import { formatDay, formatMoment, formatShare, labelOf, sumOf } from '../words.ts';
import { stackedBars } from './charts.ts';
import type { Report } from './read-report.ts';
import { empty, type Section, streamSection } from './section.ts';
import { firstOf, linked, linkedPerson, restOf, type ShownReport } from './shown-report.ts';
import { statusTrend } from './time-charts.ts';

const STATUSES: Readonly<Record<string, { name: string; color: string; onColor: string }>> = {
  expired: { name: 'expired', color: 'var(--bad)', onColor: 'var(--on-bad)' },
  expiring: { name: 'expiring', color: 'var(--warn)', onColor: 'var(--on-warn)' },
  uptodate: { name: 'up to date', color: 'var(--good)', onColor: 'var(--on-good)' },
};

const statusName = (status: string): string => STATUSES[status]?.name ?? status;

function seriesOf(rows: readonly { readonly status: string }[]) {
  const statuses = new Set(rows.map(({ status }) => status));
  const others = [...statuses].filter((status) => !(status in STATUSES));
  const strange = others.map((name) => ({ name, color: 'var(--none)', onColor: 'var(--text)' }));
  const known = Object.entries(STATUSES).filter(([status]) => statuses.has(status));
  return [...known.map(([, series]) => series), ...strange];
}

interface Typed {
  readonly equipment_type_id: string | null;
  readonly equipment_type_label: string | null;
}

export const typeOf = (row: Typed): string =>
  labelOf(row.equipment_type_label, row.equipment_type_id, 'type');

/** Equipment in service: count with an expired inspection, and total. */
export function outOfDateOf({ answers }: Report): { expired: number; inService: number } {
  const rows = answers.equipmentByType;
  const expired = rows.filter(({ status }) => status === 'expired');
  return { expired: sumOf(expired, 'equipment'), inService: sumOf(rows, 'equipment') };
}

function byType({ answers: { equipmentByType: rows } }: Report): Html {
  const segments = rows.map((row) => ({
    bar: typeOf(row),
    series: statusName(row.status),
    value: row.equipment,
  }));
  const expired = groupBy(segments, ({ bar }) => bar).map((ofType) => {
    const count = sumOf(
      ofType.filter(({ series }) => series === 'expired'),
      'value',
    );
    return `${ofType[0].bar}: ${formatCount(count)} expired`;
  });
  const texts = { title: 'Equipment in service by type', label: expired.join('; ') };
  return stackedBars(texts, seriesOf(rows), segments);
}

function longestExpired(report: ShownReport): HtmlValue {
  const { longestExpired: rows, inspections } = report.answers;
  if (rows.length === 0) return empty('No equipment in service has an expired inspection with a date.');
  type Row = (typeof rows)[number];
  const nameOf = (row: Row) =>
    html`${row.title ?? typeOf(row)}
    ${linked(report, 'equipment', row.equipment_id, html`<code>${row.serial_number ?? row.equipment_id}</code>`)}`;
  const responsible = ({ responsible: people }: Row) =>
    people.length === 0
      ? 'not assigned'
      : people.map((one, at) => [at > 0 && ', ', linkedPerson(report, one.user_name, one.user_id)]);
  return [
    table({
      caption: 'Of equipment in service, longest expired first',
      rows,
      columns: [
        ['equipment', nameOf],
        ['inspection', (row) => labelOf(row.schedule_label, row.schedule_id, 'inspection')],
        ['responsible', responsible],
        ['last done', (row) => formatDay(row.last_completed_on), 'num spare'],
        ['days expired', ({ days_expired: days }) => (days === 0 ? 'today' : days), 'num'],
      ],
    }),
    restOf(report, 'expired-inspections', inspections[0].expired - rows.length),
  ];
}

function byOffice(report: ShownReport): HtmlValue {
  const { equipmentByOffice: rows } = report.answers;
  if (rows.length === 0) return null;
  return [
    table({
      caption: 'By field office, the most expired first',
      rows,
      columns: [
        ['field office', (row) => labelOf(row.field_office_label, row.field_office_id, 'office')],
        ['expired', (row) => row.expired, 'num'],
        ['in service', (row) => row.in_service, 'num'],
        ['share', (row) => formatShare(row.expired, row.in_service), 'num'],
      ],
    }),
    firstOf(report, 'equipment-by-office', rows.length, 12),
  ];
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

function lead({ answers }: Report, { expired, inService }: ReturnType<typeof outOfDateOf>): string {
  if (inService === 0) return 'No equipment is in service.';
  const pieces = formatNumber(inService, 'piece');
  if (expired > 0)
    return `${formatCount(expired)} of ${pieces} in service ${expired === 1 ? 'has' : 'have'} an expired inspection.`;
  const valid = sumOf(
    answers.equipmentByType.filter(({ status }) => status === 'uptodate' || status === 'expiring'),
    'equipment',
  );
  if (valid < inService)
    return `${formatCount(valid)} of ${pieces} in service ${valid === 1 ? 'has' : 'have'} valid inspections.`;
  return inService === 1
    ? 'The only piece in service has valid inspections.'
    : `All ${pieces} in service have valid inspections.`;
}

export function equipmentSection(report: ShownReport): Section {
  const found = outOfDateOf(report);
  const { inService } = found;
  const days = report.answers.equipmentByDay;
  return streamSection(report, {
    id: 'equipment',
    title: 'Equipment',
    stream: 'equipments',
    hasRows: inService > 0 || days.length > 0,
    lead: lead(report, found),
    body: () => [
      notRead(report),
      inService > 0 && byType(report),
      byOffice(report),
      statusTrend(
        'Equipment in service by status at the end of each day',
        seriesOf(days),
        days.map(({ date, status, in_service: value }) => ({ date, series: statusName(status), value })),
      ),
      html`<h3>Expired inspections</h3>`,
      longestExpired(report),
    ],
  });
}
