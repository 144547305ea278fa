/** The sections of the report's page below its first screen. */
import { streamNamed } from '../../engine/streams/index.ts';
import { AREA_KINDS } from './area.ts';
import { capital, formatCount, formatNumber } from '../../shared/format.ts';
import { html, type HtmlValue } from '../html.ts';
import { table } from '../table.ts';
import { dayAfter, formatMoment, formatShare } from '../words.ts';
import { notesOf } from './first-screen.ts';
import { lineChart } from './line-chart.ts';
import { type Along, listTable } from './list-table.ts';
import { LIST_NAMES, LISTS } from './lists.ts';
import type { Report } from './read-report.ts';

const KINDS = [
  ['field_office', 'By office', 'Office'],
  ['field_office_group', 'By group of offices', 'Group'],
  ['line_of_business', 'By line of business', 'Line_of_business'],
  ['line_of_business_group', 'By group of lines of business', 'Group'],
  ['client', 'By company', 'Company'],
  ['supervisor', 'By supervisor', 'Supervisor'],
  ['left', 'Apart from these', 'People'],
] as const;
const SHOWN_AREAS = 10;

function areas(report: Report, along: Along) {
  const tables = KINDS.map(([kind, caption, title]) => {
    const rows = report.lists.areas.rows.filter((row) => row['area_kind'] === kind);
    const columns = `area=${title} people ~needing_training ~compliant percent_compliant ~open_followups=Open overdue_followups=Overdue ~oldest_due_on ~percent_done_in_time=In_time expired_equipment=Expired`;
    return listTable(report, 'areas', along, {
      caption,
      rows,
      total: rows.length,
      most: SHOWN_AREAS,
      columns,
      urlOf: (row) => {
        const areaKind = AREA_KINDS.find((one) => kind === one || kind === `${one}_group`);
        return areaKind === undefined
          ? null
          : (along.reportOf?.({ kind: areaKind, name: String(row['area']) }) ?? null);
      },
    });
  });
  const lead =
    'Those with the most overdue come first. Fully trained: those who have all the training that they need, and their share of those who need training. In time: the share of what fell due in ninety days. Expired: pieces of equipment. Who has left counts apart.';
  const note = html`<p class="note">
    Whoever has two offices counts in both, equipment too, so columns may add up to more than the total.
  </p>`;
  return { id: 'areas', title: 'How each area stands', lead, body: [tables, note] };
}

function followups(report: Report, along: Along) {
  const { figures: f, trends } = report;
  const { followupsByDay: days } = trends;
  const before = days.find(({ date }) => date === dayAfter(report.today, -7))?.open;
  const by = f.open - (before ?? f.open);
  const sinceAWeekAgo =
    by === 0 ? '' : `: ${formatCount(Math.abs(by))} ${by > 0 ? 'more' : 'fewer'} are open than a week ago`;
  return {
    id: 'followups',
    title: 'Follow-ups',
    lead: `${formatNumber(f.open, 'follow-up')} ${f.open === 1 ? 'is' : 'are'} open, ${formatCount(f.overdue)} of them overdue. In the last seven days ${formatCount(f.raised)} were raised, ${formatCount(f.reopened)} reopened and ${formatCount(f.closed)} closed${sinceAWeekAgo}.`,
    body: [
      listTable(report, 'overdue-followups', along, {
        columns: 'form_label responsible_name due_on days_overdue ~field_offices ~supervisor_name',
        remark: 'first_note',
      }),
      lineChart('Open follow-ups at the end of each day', [
        ['open', 'accent', days.map((row) => [row.date, row.open])],
        ['overdue', 'bad', days.map((row) => [row.date, row.overdue])],
      ]),
    ],
  };
}

function training(report: Report, along: Along) {
  const { figures: f, trends } = report;
  const days = trends.trainingByDay.map((row) => [row.date, (100 * row.compliant) / row.needing] as const);
  return {
    id: 'training',
    title: 'Training',
    lead: `${formatCount(f.compliant)} of ${formatCount(f.needing_training)} people who need training have completed all of it (${formatShare(f.compliant, f.needing_training)}).`,
    body: [
      listTable(report, 'lacking-trainings', along, {
        columns: 'user_name lacking field_office ~line_of_business ~supervisor_name',
        remark: 'missing_trainings',
      }),
      listTable(report, 'trainings', along, {
        columns: 'training_label lacking never_done lapsed ~expiring needed_by',
      }),
      listTable(report, 'lapsing-trainings', along, {
        columns: 'user_name training_label expires_on ~field_office ~supervisor_name',
      }),
      lineChart(
        'People with all trainings that they need, at the end of each day',
        [['trained', 'good', days]],
        {
          isShare: true,
          note: 'Of all people in the service’s list, also those who have left.',
        },
      ),
    ],
  };
}

function equipment(report: Report, along: Along) {
  const { figures: f, trends } = report;
  const { inspections_fell_due: due, inspections_in_time: inTime } = f;
  const days = trends.equipmentByDay.map((row) => [row.date, row.expired] as const);
  return {
    id: 'equipment',
    title: 'Equipment',
    lead: `${formatCount(f.expired_equipment)} of ${formatNumber(f.in_service, 'piece')} in service ${f.expired_equipment === 1 ? 'has' : 'have'} an expired inspection. Of ${formatNumber(due, 'inspection')} that fell due in 30 days, ${formatShare(inTime, due)} were done in time.`,
    body: [
      listTable(report, 'expired-inspections', along, {
        columns:
          'title ~serial_number schedule_label days_expired field_offices responsible_name ~last_completed_on',
      }),
      lineChart('Expired equipment in service at the end of each day', [['expired', 'bad', days]]),
    ],
  };
}

function files({ xlsx, csvOf, command }: Along): HtmlValue {
  const lists = LIST_NAMES.map((name, at) => [
    at > 0 && ', ',
    html`<a href="${csvOf?.(name) ?? ''}">${LISTS[name].title}</a>`,
  ]);
  return [
    xlsx !== undefined && html`<p>Every list with all its rows: <a href="${xlsx}">workbook</a></p>`,
    csvOf !== undefined && html`<p>As CSV: ${lists}</p>`,
    command !== undefined && html`<p>Every list with all its rows: <code>${command}</code></p>`,
  ];
}

function aboutData(report: Report, along: Along) {
  const { parts, timezone } = report;
  return {
    id: 'data',
    title: 'About this data',
    lead: notesOf(report)
      .map(({ text }) => text)
      .join(' '),
    body: [
      table({
        caption: 'When each part was last read from the service',
        rows: parts,
        columns: [
          ['Part', ({ stream }) => capital(streamNamed(stream).contents)],
          ['Last read', ({ read_ms: ms }) => (ms === null ? 'never' : formatMoment(ms, timezone)), 'num'],
          ['Newest attempt', ({ has_failed: failed }) => (failed ? 'failed' : ''), 'num'],
        ],
      }),
      files(along),
    ],
  };
}

export function sectionsOf(report: Report, along: Along) {
  const { lists, figures } = report;
  const sections = [
    [lists.areas.total, areas],
    [figures.followups, followups],
    [figures.needing_training, training],
    [figures.in_service, equipment],
    [1, aboutData],
  ] as const;
  return sections.filter(([rows]) => rows > 0).map(([, toSection]) => toSection(report, along));
}
