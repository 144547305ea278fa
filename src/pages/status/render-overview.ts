/** The status page of many accounts: how it stands with all, a line of each, trouble first. Pure. */
import { formatCount, formatDuration, formatNumber } from '../../shared/format.ts';
import type { AccountSummary, OverviewPart } from '../../status/overview.ts';
import type { Level } from '../../status/status.ts';
import { renderDocument } from './document.ts';
import { type Html, html } from '../html.ts';
import { ageOf, clockTime, whyOld } from './words.ts';

/** Accounts may each have their own; what is said of all of them is said in this one. */
const TIMEZONE = 'UTC';

const LEVEL_WORDS: Readonly<Record<Level, string>> = {
  good: 'well',
  busy: 'first sync',
  warning: 'look at it',
  bad: 'trouble',
};

function hero({ verdict, accountCount, database, nowMs, counts }: OverviewPart): Html {
  const isOld = database.readAtMs !== null && (database.isOld || !database.isUp);
  const asOf =
    database.readAtMs === null
      ? 'Nothing was read from the database yet.'
      : `As of ${clockTime(database.readAtMs, TIMEZONE)} ${TIMEZONE}${isOld ? `, ${ageOf(database.readAtMs, nowMs)}: ${whyOld(database)}` : ''}.`;
  const levels = (['bad', 'warning', 'busy', 'good'] as const).filter((level) => counts[level] > 0);
  return html`<header class="hero ${verdict.level}">
    <h1>${verdict.sentence}</h1>
    ${
      verdict.details.length > 0 &&
      html`<ul>
        ${verdict.details.map((detail) => html`<li>${detail}</li>`)}
      </ul>`
    }
    <p>
      ${levels.map((level) => html`<span class="badge ${level}">${formatCount(counts[level])} ${LEVEL_WORDS[level]}</span> `)}
    </p>
    <p class="${isOld ? 'old' : 'dim'}">${formatNumber(accountCount, 'account')}. ${asOf}</p>
  </header>`;
}

/** The success that lies furthest back, of the scheduled streams. */
function oldestOf({ streams }: AccountSummary): number | null {
  const scheduled = streams.filter(({ isScheduled }) => isScheduled);
  const times = scheduled.map(({ lastSuccessMs }) => lastSuccessMs);
  return times.includes(null) || times.length === 0 ? null : Math.min(...times.map((ms) => ms ?? 0));
}

function accountRows(account: AccountSummary, nowMs: number): Html {
  const { accountId, verdict, streams, openIssues } = account;
  const running = streams.filter((stream) => stream.running !== null).length;
  return html`<tr>
      <td><a href="?account=${encodeURIComponent(accountId)}">${accountId}</a></td>
      <td><span class="badge ${verdict.level}">${LEVEL_WORDS[verdict.level]}</span></td>
      <td>${ageOf(oldestOf(account), nowMs)}</td>
      <td class="num wide">${running === 0 ? '' : formatCount(running)}</td>
      <td class="num wide">${openIssues === 0 ? '' : formatCount(openIssues)}</td>
    </tr>
    ${
      verdict.level !== 'good' &&
      html`<tr>
        <td class="remark small" colspan="5">${[verdict.sentence, ...verdict.details].join(' ')}</td>
      </tr>`
    }`;
}

function pageLinks({ page, pages }: OverviewPart): Html | null {
  if (pages === 1) return null;
  const link = (to: number, text: string) => html`<a href="?page=${to}">${text}</a> `;
  return html`<p class="small">
    ${page > 1 && link(page - 1, 'worse')}page ${page} of ${pages} ${page < pages && link(page + 1, 'better')}
  </p>`;
}

function accountList(part: OverviewPart): Html {
  return html`<section>
    <h2>Accounts</h2>
    <div class="card">
      <table>
        <thead>
          <tr>
            <th>account</th>
            <th>state</th>
            <th>oldest success</th>
            <th class="num wide">running</th>
            <th class="num wide">open issues</th>
          </tr>
        </thead>
        <tbody>
          ${part.accounts.map((account) => accountRows(account, part.nowMs))}
        </tbody>
      </table>
      ${pageLinks(part)}
    </div>
  </section>`;
}

function footer({ version, nowMs, startedMs, owner, queue }: OverviewPart): Html {
  const waiting =
    queue.waiting === 0
      ? ''
      : `, ${formatCount(queue.waiting)} waiting, the first for ${formatDuration(queue.longestWaitMs)}`;
  const unhealthy =
    queue.unhealthy === 0 ? '' : `, ${formatCount(queue.unhealthy)} with a service that does not answer`;
  return html`<footer>
    safety-sync ${version}, up ${formatDuration(Math.max(0, nowMs - startedMs))}, ${owner}. Runs of this
    worker: ${formatCount(queue.running)} of ${formatCount(queue.slots)}${unhealthy}${waiting}. For machines:
    <a href="api/status">status</a>, <a href="metrics">metrics</a>, <a href="healthz">health</a>,
    <a href="readyz">readiness</a>.
  </footer>`;
}

export function renderOverview(part: OverviewPart, nonce: string): string {
  return renderDocument({
    verdict: part.verdict,
    about: formatNumber(part.accountCount, 'account'),
    nonce,
    main: html`${hero(part)} ${accountList(part)}`,
    footer: footer(part),
  });
}
