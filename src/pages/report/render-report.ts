/** Renders a Report as one HTML document without scripts or external requests. */
import { streamNamed } from '../../engine/streams/index.ts';
import { formatNumber } from '../../shared/format.ts';
import { renderDocument } from '../document.ts';
import { type Html, html, list } from '../html.ts';
import { REPORT_STYLE } from '../style.ts';
import { type Column, table } from '../table.ts';
import { describeIssue, formatDay, formatMoment } from '../words.ts';
import { documentsSection } from './documents-section.ts';
import { equipmentSection } from './equipment-section.ts';
import { before, dataAge, firstScreen } from './first-screen.ts';
import { countOf, followupsSection, overdueSection } from './followups-section.ts';
import { isAnythingRead, NOTHING_READ, type Report } from './read-report.ts';
import { type Along, type ShownReport, showReport } from './shown-report.ts';
import { renderSection, type Section } from './section.ts';
import { trainingSection } from './training-section.ts';
import { weekSection } from './week-section.ts';

const LISTED_ISSUES = 12;

const FIRST_SYNC_ADVICE = html`<p class="lead">
  ${NOTHING_READ} Next step: <code>safety-sync sync</code>, then write this report again.
</p>`;

function freshness({ streams, asOfMs, timezone }: Report): Html {
  const failed: Column<Report['streams'][number]> = [
    'remark',
    ({ failingWith: code }) => code !== undefined && `the newest attempt failed: ${code}`,
  ];
  const hasFailures = streams.some(({ failingWith }) => failingWith !== undefined);
  return table({
    caption: 'When each part was last read from the service',
    rows: streams,
    columns: [
      ['what', ({ stream }) => streamNamed(stream).contents],
      ['last read', ({ lastSuccessMs: ms }) => (ms === null ? '–' : formatMoment(ms, timezone)), 'num'],
      ['before this report', ({ lastSuccessMs: ms }) => (ms === null ? 'never' : before(ms, asOfMs)), 'num'],
      ...(hasFailures ? [failed] : []),
    ],
  });
}

function issues(report: Report): Html | null {
  const { issues: groups } = report;
  if (groups.length === 0 && !isAnythingRead(report)) return null;
  if (groups.length === 0)
    return html`<p class="empty">No record and no value of the service was rejected.</p>`;
  const rest = groups.length - LISTED_ISSUES;
  return html`<p>Some data could not be stored as sent:</p>
    ${list(groups.slice(0, LISTED_ISSUES).map(describeIssue))}
    ${rest > 0 && html`<p class="note">and ${formatNumber(rest, 'more kind')}.</p>`}
    <p class="note">One by one: <code>safety-sync data-issues</code></p>`;
}

/** Whether ids of forms, trainings and equipment are shown without labels. */
function labelsHint({ answers }: Report): Html | null {
  const { timeToCloseByForm: forms, gapsByTraining: trainings, equipmentByType: types } = answers;
  const hasBareIds =
    forms.some((row) => row.form_id !== null && row.form_label === row.form_id) ||
    trainings.some((row) => row.training_label === row.training_id) ||
    types.some((row) => row.equipment_type_id !== null && row.equipment_type_label === row.equipment_type_id);
  if (!hasBareIds) return null;
  return html`<p class="note">
    The service sends forms, trainings and equipment types as numbers. To give them names:
    <code>safety-sync labels template</code>
  </p>`;
}

function allLists({ along, accountId }: ShownReport): Html {
  const file = along.xlsx ?? along.csv;
  return file === undefined
    ? html`<p class="note">
        Every list with all its rows, as a workbook or as CSV files:
        <code>safety-sync report --account ${accountId} --xlsx FILE --csv DIR</code>
      </p>`
    : html`<p class="note">Every list with all its rows: <code>${file}</code></p>`;
}

/** The reliability of the data: its age, and the open data issues. */
function dataSection(report: ShownReport): Section {
  const lists = isAnythingRead(report) && allLists(report);
  const body = [freshness(report), issues(report), labelsHint(report), lists];
  return { id: 'data', title: 'About this data', body };
}

interface RenderOptions {
  /** The organisation in the title (REPORT_TITLE); null: the account's name is shown. */
  readonly title: string | null;
  /** Files that were written with the page; default: none. */
  readonly along?: Along;
}

/** Overdue follow-ups come before those of this week if they are more. */
function sectionsOf(report: ShownReport): Section[] {
  const [{ due }] = report.answers.lastWeek;
  const [week, overdue] = [weekSection(report), overdueSection(report)];
  return [
    ...(countOf(report, 'overdue') > due ? [overdue, week] : [week, overdue]),
    followupsSection(report),
    trainingSection(report),
    equipmentSection(report),
    documentsSection(report),
    dataSection(report),
  ].filter((section) => section !== null);
}

export function renderReport(read: Report, { title, along }: RenderOptions): string {
  const report = showReport(read, along);
  const age = dataAge(report);
  const { accountId, asOfMs, timezone } = report;
  const sections = sectionsOf(report);
  const isRead = isAnythingRead(report);
  return renderDocument({
    title: `Safety report: ${title ?? accountId}, ${formatDay(report.today)}`,
    head: html`<meta
        http-equiv="Content-Security-Policy"
        content="default-src 'none'; style-src 'unsafe-inline'"
      />
      <meta name="generator" content="safety-sync" />`,
    style: REPORT_STYLE,
    nonce: null,
    body: html`<header>
        <h1>${title === null ? 'Safety report' : title}</h1>
        <p class="dim">
          ${title === null ? `Account ${accountId}` : 'Safety report'}, as of
          ${formatMoment(asOfMs, timezone)} (${timezone}).
          ${age !== null && html`<span class="${age.isBad && 'bad'}">${age.text}</span>`}
        </p>
        ${!isRead && FIRST_SYNC_ADVICE}
        <nav aria-label="Sections">
          ${sections.map(({ id, title: name }) => html`<a href="#${id}">${name}</a>`)}
        </nav>
      </header>
      <main>${isRead && firstScreen(report)} ${sections.map(renderSection)}</main>
      <footer>
        Written by safety-sync from its warehouse. This file loads nothing and runs no script.
      </footer>`,
  });
}
