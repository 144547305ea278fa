/** One Report → one HTML document that needs nothing else: no script, no request. */
import { formatCount, formatNumber } from '../../shared/format.ts';
import { streamNamed } from '../../streams/index.ts';
import { renderDocument } from '../document.ts';
import { type Html, html } from '../html.ts';
import { REPORT_STYLE } from '../style.ts';
import { table } from '../table.ts';
import { ageOf, describeIssue, formatDay, formatMoment, formatShare, personOf } from '../words.ts';
import { createPen } from './draw.ts';
import { equipmentSection, outOfDateOf } from './equipment-section.ts';
import { countOf, followupsSection } from './followups-section.ts';
import type { Report } from './read-report.ts';
import { empty, section } from './section.ts';
import { trainedOf, trainingSection } from './training-section.ts';

const LISTED_ISSUES = 12;

function figure(title: string, value: string, beside: string, isBad = false): Html {
  return html`<div>
    <dt>${title}</dt>
    <dd class="value${isBad && ' bad'}">${value}</dd>
    <dd class="beside">${beside}</dd>
  </div>`;
}

const UNKNOWN = ['–', 'not read yet'] as const;

function overview(report: Report): Html {
  const { answers } = report;
  const hasFollowups = answers.followupsNow.length > 0;
  const late = countOf(report, 'overdue');
  const open = countOf(report, 'open') + late;
  const oldest = answers.overdueByAge.map((row) => row.oldest_due_on).toSorted()[0];
  const { trained, needed } = trainedOf(report);
  const { expired, inService } = outOfDateOf(report);
  return html`<dl class="figures">
    ${
      hasFollowups
        ? [
            figure('Open follow-ups', formatCount(open), `${formatCount(open - late)} of them not yet due`),
            figure(
              'Overdue follow-ups',
              formatCount(late),
              late === 0 ? 'none' : `the oldest since ${formatDay(oldest ?? null)}`,
              late > 0,
            ),
          ]
        : [figure('Open follow-ups', ...UNKNOWN), figure('Overdue follow-ups', ...UNKNOWN)]
    }
    ${
      answers.trainingNow.length > 0
        ? figure(
            'Trained',
            formatShare(trained, needed),
            `${formatCount(trained)} of ${formatCount(needed)} who need training`,
          )
        : figure('Trained', ...UNKNOWN)
    }
    ${
      inService > 0
        ? figure(
            'Equipment out of date',
            formatCount(expired),
            `of ${formatCount(inService)} in service`,
            expired > 0,
          )
        : figure('Equipment out of date', ...UNKNOWN)
    }
  </dl>`;
}

function firstStep(report: Report): Html | null {
  if (report.streams.some(({ lastSuccessMs }) => lastSuccessMs !== null)) return null;
  return html`<p class="lead">
    Nothing was read from the service yet, so there is nothing to report. Next step:
    <code>safety-sync sync</code>, then write this report again.
  </p>`;
}

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
              { title: 'by', isSpare: true },
              { title: 'since', isNumber: true },
            ],
            report.answers.notApproved.map((row) => [
              html`${row.title ?? row.resource_id}`,
              row.version,
              personOf(row.creator_name, row.creator_id),
              formatDay(row.created_on),
            ]),
          ),
  });
}

function freshness({ streams, asOfMs, timezone }: Report): Html {
  const hasFailures = streams.some(({ failedWith }) => failedWith !== null);
  return table(
    'When each part was last read from the service',
    [
      { title: 'what' },
      { title: 'last read', isNumber: true },
      { title: 'that is', isNumber: true },
      ...(hasFailures ? [{ title: 'remark' }] : []),
    ],
    streams.map(({ stream, lastSuccessMs, failedWith }) => [
      streamNamed(stream).contents,
      lastSuccessMs === null ? '–' : formatMoment(lastSuccessMs, timezone),
      ageOf(lastSuccessMs, asOfMs),
      ...(hasFailures ? [failedWith === null ? '' : `the newest attempt failed: ${failedWith}`] : []),
    ]),
  );
}

function issues({ issues: groups }: Report): Html {
  if (groups.length === 0) return html`<p class="empty">Everything was stored as the service sent it.</p>`;
  const rest = groups.length - LISTED_ISSUES;
  return html`<p>Some data could not be stored as sent:</p>
    <ul>
      ${groups.slice(0, LISTED_ISSUES).map((group) => html`<li>${describeIssue(group)}</li>`)}
    </ul>
    ${rest > 0 && html`<p class="note">and ${rest} more kinds.</p>`}
    <p class="note">One by one: <code>safety-sync data-issues</code></p>`;
}

/** How far the page can be trusted: how fresh its data is, and what could not be taken as it came. */
function dataSection(report: Report): Html {
  return html`<section id="data" aria-labelledby="data-title">
    <h2 id="data-title">About this data</h2>
    ${freshness(report)} ${issues(report)}
  </section>`;
}

export async function renderReport(report: Report): Promise<string> {
  const pen = await createPen();
  const { accountId, asOfMs, timezone } = report;
  return renderDocument({
    title: `Safety report: ${accountId}, ${formatDay(report.today)}`,
    head: html`<meta
        http-equiv="Content-Security-Policy"
        content="default-src 'none'; style-src 'unsafe-inline'"
      />
      <meta name="generator" content="safety-sync" />`,
    style: REPORT_STYLE,
    nonce: null,
    body: html`<header>
        <h1>Safety report</h1>
        <p class="dim">
          Account ${accountId}, as of ${formatMoment(asOfMs, timezone)}. Days begin in the time zone
          ${timezone}.
        </p>
        ${firstStep(report)}
        <nav aria-label="Sections">
          <a href="#followups">Follow-ups</a><a href="#training">Training</a><a href="#equipment">Equipment</a
          ><a href="#documents">Documents</a><a href="#data">About this data</a>
        </nav>
      </header>
      <main>
        ${overview(report)} ${followupsSection(report, pen)} ${trainingSection(report, pen)}
        ${equipmentSection(report, pen)} ${documentsSection(report)} ${dataSection(report)}
      </main>
      <footer>
        Written by safety-sync from its warehouse. This file loads nothing and runs no script.
      </footer>`,
  });
}
