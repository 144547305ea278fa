/** One Report → one HTML document that needs nothing else: no script, no request. */
import { type Html, html, trusted } from '../html.ts';
import { formatCount } from '../../shared/format.ts';
import type { Report } from './read-report.ts';
import { dataSection } from './data-section.ts';
import { documentsSection } from './documents-section.ts';
import { createPen } from './draw.ts';
import { equipmentSection, outOfDateOf } from './equipment-section.ts';
import { countOf, followupsSection } from './followups-section.ts';
import { STYLE } from './style.ts';
import { trainedOf, trainingSection } from './training-section.ts';
import { formatDay, formatMoment, formatShare } from './words.ts';

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

export async function renderReport(report: Report): Promise<string> {
  const pen = await createPen();
  const { accountId, asOfMs, timezone } = report;
  const page = html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'" />
        <meta name="robots" content="noindex" />
        <meta name="generator" content="safety-sync" />
        <title>Safety report: ${accountId}, ${formatDay(report.today)}</title>
        <style>
          ${trusted(STYLE)}
        </style>
      </head>
      <body>
        <header>
          <h1>Safety report</h1>
          <p class="dim">
            Account ${accountId}, as of ${formatMoment(asOfMs, timezone)}. Days begin in the time zone
            ${timezone}.
          </p>
          ${firstStep(report)}
          <nav aria-label="Sections">
            <a href="#followups">Follow-ups</a><a href="#training">Training</a
            ><a href="#equipment">Equipment</a><a href="#documents">Documents</a
            ><a href="#data">About this data</a>
          </nav>
        </header>
        <main>
          ${overview(report)} ${followupsSection(report, pen)} ${trainingSection(report, pen)}
          ${equipmentSection(report, pen)} ${documentsSection(report)} ${dataSection(report)}
        </main>
        <footer>
          Written by safety-sync from its warehouse. This file loads nothing and runs no script.
        </footer>
      </body>
    </html> `;
  return page.text;
}
