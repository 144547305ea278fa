/** The status page: one Status → one HTML document that needs nothing else. Pure. */
import { formatCount, formatDuration, formatNumber } from '../../shared/format.ts';
import {
  type AccountStatus,
  type Level,
  type ProcessStatus,
  type SingleStatus,
  singleOf,
  type Status,
  type StatusPart,
} from '../../status/status.ts';
import { type Html, html } from '../html.ts';
import { renderDocument } from './document.ts';
import { renderAccount } from './render-account.ts';
import { moment } from './stream-cards.ts';
import { ageOf, clockTime, whyOld } from './words.ts';

/** Accounts may each have their own; what is said of all of them is said in this one. */
const TIMEZONE = 'UTC';

const LEVEL_WORDS: Readonly<Record<Level, string>> = {
  good: 'well',
  busy: 'first sync',
  warning: 'look at it',
  bad: 'trouble',
};

/** How it stands, in the largest words of the page; `whose` and as of when beneath. */
function hero(
  { verdict, database, nowMs }: ProcessStatus,
  { whose, timezone, badges }: { whose: string; timezone: string; badges?: Html },
): Html {
  const isOld = database.readAtMs !== null && (database.isOld || !database.isUp);
  const asOf =
    database.readAtMs === null
      ? 'Nothing was read from the database yet.'
      : html`As of ${moment(database.readAtMs, clockTime(database.readAtMs, timezone), timezone)}
        ${timezone}${isOld && html`, ${ageOf(database.readAtMs, nowMs)}: ${whyOld(database)}`}.`;
  return html`<header class="hero ${verdict.level}">
    <h1>${verdict.sentence}</h1>
    ${
      verdict.details.length > 0 &&
      html`<ul>
        ${verdict.details.map((detail) => html`<li>${detail}</li>`)}
      </ul>`
    }
    ${badges ?? null}
    <p class="${isOld ? 'old' : 'dim'}">${whose}. ${asOf}</p>
  </header>`;
}

function levelBadges({ counts }: Status): Html {
  const levels = (['bad', 'warning', 'busy', 'good'] as const).filter((level) => counts[level] > 0);
  return html`<p>
    ${levels.map((level) => html`<span class="badge ${level}">${formatCount(counts[level])} ${LEVEL_WORDS[level]}</span> `)}
  </p>`;
}

/** The success that lies furthest back, of the scheduled streams. */
function oldestOf({ streams }: AccountStatus): number | null {
  const scheduled = streams.filter(({ isScheduled }) => isScheduled);
  const times = scheduled.map(({ lastSuccessMs }) => lastSuccessMs);
  return times.includes(null) || times.length === 0 ? null : Math.min(...times.map((ms) => ms ?? 0));
}

function accountRows(account: AccountStatus, nowMs: number): Html {
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

function pageLinks({ page, pages }: StatusPart): Html | null {
  if (pages === 1) return null;
  const link = (to: number, text: string) => html`<a href="?page=${to}">${text}</a> `;
  return html`<p class="small">
    ${page > 1 && link(page - 1, 'worse')}page ${page} of ${pages} ${page < pages && link(page + 1, 'better')}
  </p>`;
}

function accountList(part: StatusPart): Html {
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

function footer({ version, nowMs, startedMs, owner }: ProcessStatus, about: Html): Html {
  return html`<footer>
    safety-sync ${version}, up ${formatDuration(Math.max(0, nowMs - startedMs))}, ${owner}. ${about} For
    machines: <a href="api/status">status</a>, <a href="metrics">metrics</a>, <a href="healthz">health</a>,
    <a href="readyz">readiness</a>.
  </footer>`;
}

function aboutRequests({ service }: SingleStatus): Html {
  return html`${
      service !== null &&
      html`Requests in flight: ${service.inFlight} of
      ${service.concurrencyNow}${service.waiting > 0 && html`, ${service.waiting} waiting`}${service.coolingUntilMs !== null && html`, cooling down (the service said rate_limit_exceeded)`}.`
    }<br />Bars of a stream: its last runs, up for how long they took, down for how many rows they changed.`;
}

function aboutQueue({ queue }: Status): Html {
  const waiting =
    queue.waiting === 0
      ? ''
      : `, ${formatCount(queue.waiting)} waiting, the first for ${formatDuration(queue.longestWaitMs)}`;
  const unhealthy =
    queue.unhealthy === 0 ? '' : `, ${formatCount(queue.unhealthy)} with a service that does not answer`;
  return html`Runs of this worker: ${formatCount(queue.running)} of
  ${formatCount(queue.slots)}${unhealthy}${waiting}.`;
}

/** One account in full, or a list of several. `nonce` is that of the response's Content-Security-Policy. */
export function renderStatus(status: Status | StatusPart, nonce: string, isOneOfMany = false): string {
  const { verdict } = status;
  const single = singleOf(status);
  if (single !== undefined) {
    const { accountId, timezone } = single;
    const back = isOneOfMany && html`<p class="small"><a href="?">All accounts</a></p>`;
    return renderDocument({
      verdict,
      about: accountId,
      nonce,
      main: html`${back}${hero(single, { whose: `Account ${accountId}`, timezone })} ${renderAccount(single)}`,
      footer: footer(single, aboutRequests(single)),
    });
  }
  const whose = formatNumber(status.accountCount, 'account');
  const part = 'page' in status ? status : { ...status, page: 1, pages: 1 };
  return renderDocument({
    verdict,
    about: whose,
    nonce,
    main: html`${hero(status, { whose, timezone: TIMEZONE, badges: levelBadges(status) })}
    ${accountList(part)}`,
    footer: footer(status, aboutQueue(status)),
  });
}
