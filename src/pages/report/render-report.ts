/** Renders a Report as one HTML document without scripts or external requests. */
import { formatCount, formatDuration, formatNumber, roughly } from '../../shared/format.ts';
import { MINUTE_MS } from '../../shared/time.ts';
import { streamNamed } from '../../engine/streams/index.ts';
import { renderDocument } from '../document.ts';
import { type Html, html } from '../html.ts';
import { REPORT_STYLE } from '../style.ts';
import { table } from '../table.ts';
import { describeIssue, formatDay, formatMoment, personOf } from '../words.ts';
import { equipmentSection } from './equipment-section.ts';
import { followupsSection } from './followups-section.ts';
import { overview } from './overview.ts';
import { isAnythingRead, NOTHING_READ, type Report } from './read-report.ts';
import { empty, section } from './section.ts';
import { disambiguate } from './disambiguate.ts';
import { trainingSection } from './training-section.ts';
import { weekSection } from './week-section.ts';

const LISTED_ISSUES = 12;

const FIRST_STEP = html`<p class="lead">
  ${NOTHING_READ} Next step: <code>safety-sync sync</code>, then write this report again.
</p>`;

function documentsSection(report: Report): Html {
  const [now] = report.answers.documentsNow;
  const { documents = 0, not_approved: open = 0, older_than_two_years: old = 0 } = now ?? {};
  const approval =
    open === 0
      ? `The newest version of each of ${formatNumber(documents, 'document')} is approved.`
      : `The newest version of ${formatCount(open)} of ${formatNumber(documents, 'document')} is not approved.`;
  const age =
    old === 0 ? '' : ` ${formatCount(old)} ${old === 1 ? 'has' : 'have'} had no new version for two years.`;
  return section(report, {
    id: 'documents',
    title: 'Documents',
    stream: 'resources',
    hasRows: documents > 0,
    lead: `${approval}${age}`,
    body: () =>
      open === 0
        ? empty('No document waits for its approval.')
        : table(
            'Not approved, longest first',
            [
              { title: 'document' },
              { title: 'version' },
              { title: 'category', isSpare: true },
              { title: 'by', isSpare: true },
              { title: 'since', isNumber: true },
            ],
            report.answers.notApproved.map((row) => [
              html`${row.title ?? row.resource_id}`,
              row.version,
              row.category_label,
              personOf(row.creator_name, row.creator_id),
              formatDay(row.created_on),
            ]),
          ),
  });
}

const before = (ms: number): string => (ms < MINUTE_MS ? 'less than a minute' : roughly(formatDuration(ms)));

function freshness({ streams, asOfMs, timezone }: Report): Html {
  const hasFailures = streams.some(({ failedWith }) => failedWith !== null);
  return table(
    'When each part was last read from the service',
    [
      { title: 'what' },
      { title: 'last read', isNumber: true },
      { title: 'before this report', isNumber: true },
      ...(hasFailures ? [{ title: 'remark' }] : []),
    ],
    streams.map(({ stream, lastSuccessMs, failedWith }) => [
      streamNamed(stream).contents,
      lastSuccessMs === null ? '–' : formatMoment(lastSuccessMs, timezone),
      lastSuccessMs === null ? 'never' : before(asOfMs - lastSuccessMs),
      ...(hasFailures ? [failedWith === null ? '' : `the newest attempt failed: ${failedWith}`] : []),
    ]),
  );
}

function issues(report: Report): Html | null {
  const { issues: groups } = report;
  if (groups.length === 0 && !isAnythingRead(report)) return null;
  if (groups.length === 0) return html`<p class="empty">Everything was stored as the service sent it.</p>`;
  const rest = groups.length - LISTED_ISSUES;
  return html`<p>Some data could not be stored as sent:</p>
    <ul>
      ${groups.slice(0, LISTED_ISSUES).map((group) => html`<li>${describeIssue(group)}</li>`)}
    </ul>
    ${rest > 0 && html`<p class="note">and ${rest} more kinds.</p>`}
    <p class="note">One by one: <code>safety-sync data-issues</code></p>`;
}

/** Whether ids of forms, trainings and equipment are shown without labels. */
function labelsHint({ answers }: Report): Html | null {
  const { timeToCloseByForm: forms, gapsByTraining: trainings, equipmentByType: types } = answers;
  const hasBareIds =
    forms.some((row) => row.form_id !== null && row.form_label === row.form_id) ||
    trainings.some((row) => row.training_label === String(row.training_id)) ||
    types.some((row) => row.equipment_type_id !== null && row.equipment_type_label === row.equipment_type_id);
  if (!hasBareIds) return null;
  return html`<p class="note">
    The service sends forms, trainings and equipment types as numbers. To give them names:
    <code>safety-sync labels template</code>
  </p>`;
}

/** The reliability of the data: its age, and the open data issues. */
function dataSection(report: Report): Html {
  return html`<section id="data" aria-labelledby="data-title">
    <h2 id="data-title">About this data</h2>
    ${freshness(report)} ${issues(report)} ${labelsHint(report)}
  </section>`;
}

interface RenderOptions {
  /** The organisation in the title (REPORT_TITLE); null: the account's name is shown. */
  readonly title: string | null;
}

export function renderReport(read: Report, { title }: RenderOptions): string {
  const report = { ...read, answers: disambiguate(read.answers) };
  const { accountId, asOfMs, timezone } = report;
  const week = weekSection(report);
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
        </p>
        ${!isRead && FIRST_STEP}
        <nav aria-label="Sections">
          ${week !== null && html`<a href="#week">This week</a>`}<a href="#followups">Follow-ups</a
          ><a href="#training">Training</a><a href="#equipment">Equipment</a><a href="#documents">Documents</a
          ><a href="#data">About this data</a>
        </nav>
      </header>
      <main>
        ${isRead && overview(report)} ${week} ${followupsSection(report)} ${trainingSection(report)}
        ${equipmentSection(report)} ${documentsSection(report)} ${dataSection(report)}
      </main>
      <footer>
        Written by safety-sync from its warehouse. This file loads nothing and runs no script.
      </footer>`,
  });
}
