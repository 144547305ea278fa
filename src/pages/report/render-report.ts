/** Renders a Report as one HTML document without scripts or external requests. */
import { describeArea } from './area.ts';
import { capital } from '../../shared/format.ts';
import { renderDocument } from '../document.ts';
import { type Html, html } from '../html.ts';
import { REPORT_STYLE } from '../style.ts';
import { formatDay, formatMoment } from '../words.ts';
import { type FirstList, firstListsOf, type KeyFigure, keyFiguresOf, notesOf } from './first-screen.ts';
import { type Along, link } from './list-table.ts';
import { isAnythingRead, type Report } from './read-report.ts';
import { sectionsOf } from './sections.ts';

const renderKeyFigure = ({ title, value, beside, change, isBetter, isBad }: KeyFigure): Html =>
  html`<div>
    <dt>${title}</dt>
    <dd class="value${isBad === true && ' bad'}">${value}</dd>
    ${change !== '' && html`<dd class="change${isBetter !== undefined && (isBetter ? ' better' : ' worse')}">${change}</dd>`}
    <dd class="beside">${beside}</dd>
  </div>`;

const renderFirstList = ({ title, lines, rest, none }: FirstList, at: number): Html =>
  html`<section aria-labelledby="first-${at}">
    <h2 id="first-${at}">${title}</h2>
    ${lines.length === 0 && html`<p class="empty">${none}</p>`}
    <ol>
      ${lines.map(
        ({ url, shown, texts }) =>
          html`<li>
            ${link(url, html`<b>${shown}</b>`)}${texts.map((text) => text !== '' && html`<span>${text}</span>`)}
          </li>`,
      )}
    </ol>
    ${rest !== '' && html`<p class="note">${rest}</p>`}
  </section>`;

/** `title`: the organisation (REPORT_TITLE); null: the account's name is shown. */
export function titleOfReport({ accountName, area, today }: Report, title: string | null): string {
  return `Safety report: ${[title ?? accountName, ...(area === null ? [] : [describeArea(area)]), formatDay(today)].join(', ')}`;
}

export function renderReport(
  report: Report,
  { title, along = {} }: { readonly title: string | null; readonly along?: Along },
): string {
  const { accountName, area, asOfMs, timezone } = report;
  const isRead = isAnythingRead(report);
  const sections = isRead ? sectionsOf(report, along) : [];
  const name = area === null ? (title ?? 'Safety report') : capital(describeArea(area));
  return renderDocument({
    title: titleOfReport(report, title),
    head: html`<meta
        http-equiv="Content-Security-Policy"
        content="default-src 'none'; style-src 'unsafe-inline'"
      />
      <meta name="generator" content="safety-sync" />`,
    style: REPORT_STYLE,
    nonce: null,
    body: html`<header>
        <h1>${name}</h1>
        <p class="dim">
          ${area === null && title !== null ? 'Safety report' : (title ?? `Account ${accountName}`)}, as of
          ${formatMoment(asOfMs, timezone)} (${timezone}).
          ${notesOf(report).map(({ text, isBad }) => html`<span class="${isBad && 'bad'}">${text}</span> `)}
        </p>
        ${!isRead && html`<p>Next step: <code>safety-sync sync</code>, then make this report again.</p>`}
        <nav aria-label="Sections">
          ${sections.map(({ id, title: heading }) => html`<a href="#${id}">${heading}</a>`)}
          ${along.xlsx !== undefined && html`<a href="${along.xlsx}">Workbook</a>`}
        </nav>
      </header>
      <main>
        ${
          isRead &&
          html`<dl class="key-figures">${keyFiguresOf(report).map(renderKeyFigure)}</dl>
            <div class="first">${firstListsOf(report).map(renderFirstList)}</div>`
        }
        ${sections.map(
          ({ id, title: heading, lead, body }) =>
            html`<section id="${id}" aria-labelledby="${id}-title">
              <h2 id="${id}-title">${heading}</h2>
              <p class="lead">${lead}</p>
              ${body}
            </section>`,
        )}
      </main>
      <footer>
        Written by safety-sync from its warehouse. This page loads nothing and runs no script.
      </footer>`,
  });
}
