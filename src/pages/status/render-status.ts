/** Renders a Status as one HTML document without external requests. Pure. */
import { formatCount, formatDuration, formatNumber } from '../../shared/format.ts';
import { SECOND_MS } from '../../shared/time.ts';
import { CHANNEL_WORDS, joinNames } from '../../operate/status/problem-words.ts';
import { type AccountStatus, areAccountsRead, type Status } from '../../operate/status/status.ts';
import { describeProtection, describeRetention } from '../../operate/status/storage-rules.ts';
import type { Level } from '../../operate/status/verdict.ts';
import { renderDocument } from '../document.ts';
import { type Html, html, list, trusted } from '../html.ts';
import { STATUS_STYLE } from '../style.ts';
import { table } from '../table.ts';
import { clockTime } from '../words.ts';
import { ageOf, badge, moment, renderAccount, titledCard } from './render-account.ts';

/** The time zone of texts about all accounts, because each account may have its own. */
const TIMEZONE = 'UTC';

/** Without scripts the page reloads itself. */
const RELOAD_SECONDS = 15;

/**
 * Fetches the page every few seconds and replaces the content, also in a tab that is not in front, because its title is
 * visible. When the worker does not respond, it shows a note and removes the title and the colours of the older state.
 */
const SCRIPT = `
(() => {
  const lost = document.getElementById('lost');
  let asking = false;
  const look = async () => {
    if (asking) return;
    asking = true;
    try {
      const response = await fetch(location.pathname + location.search, { cache: 'no-store', signal: AbortSignal.timeout(8000) });
      if (!response.ok) throw new Error(String(response.status));
      // The fetched style is not inserted: the page already has it, and the policy would block its nonce.
      const text = (await response.text()).replace(/<style[^]*?<\\/style>/, '');
      const next = new DOMParser().parseFromString(text, 'text/html');
      for (const selector of ['main', 'footer', 'link[rel=icon]'])
        document.querySelector(selector).replaceWith(document.adoptNode(next.querySelector(selector)));
      document.title = next.title;
      lost.hidden = true;
    } catch {
      const main = document.querySelector('main');
      main.className = 'lost';
      main.querySelector('h1').textContent = 'No response from the worker.';
      document.title = '✗ No response';
      document.querySelector('link[rel=icon]').href = 'data:,';
      if (lost.hidden) lost.textContent = 'No response from the worker since ' + new Date().toLocaleTimeString() + '. This page shows an older state.';
      lost.hidden = false;
    }
    asking = false;
  };
  setInterval(look, 10000);
  document.addEventListener('visibilitychange', look);
})();
`;

const ICON_COLORS: Readonly<Record<Level, string>> = {
  good: '#1f9d55',
  busy: '#2f6fd0',
  warning: '#d68a00',
  bad: '#d0342c',
};

function icon(level: Level): Html {
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><circle cx="8" cy="8" r="7" fill="${ICON_COLORS[level]}"/></svg>`;
  return html`<link rel="icon" href="data:image/svg+xml,${encodeURIComponent(svg)}" />`;
}

const LEVEL_WORDS: Readonly<Record<Level, string>> = {
  good: 'healthy',
  busy: 'first sync',
  warning: 'warning',
  bad: 'unhealthy',
};

/** A read that is older than this is shown with its age. */
const OLD_MS = 12 * SECOND_MS;

/** The overall state in the largest font, with account and age below. */
function hero(
  { verdict, database, nowMs }: Status,
  { about, timezone, badges }: { about: string; timezone: string; badges?: Html },
): Html {
  const { readAtMs, isUp } = database;
  const isOld = readAtMs !== null && (!isUp || nowMs - readAtMs > OLD_MS);
  const asOf =
    readAtMs === null
      ? 'Nothing was read from the database yet.'
      : html`As of ${moment(readAtMs, clockTime(readAtMs, timezone), timezone)}
        ${timezone}${isOld && html`, ${ageOf(readAtMs, nowMs)}${!isUp && ': the last known state'}`}.`;
  return html`<header class="hero ${verdict.level}">
    <h1>${verdict.sentence}</h1>
    ${verdict.details.length > 0 && list(verdict.details)} ${badges ?? null}
    <p class="${isOld ? 'old' : 'dim'}">${about}. ${asOf}</p>
  </header>`;
}

const levelBadges = ({ counts }: Status): Html =>
  html`<p>
    ${(['bad', 'warning', 'busy', 'good'] as const)
      .filter((level) => counts[level] > 0)
      .map((level) => html`${badge(level, `${formatCount(counts[level])} ${LEVEL_WORDS[level]}`)} `)}
  </p>`;

/** The oldest last success of the scheduled streams. */
function oldestOf({ streams }: AccountStatus): number | null {
  const scheduled = streams.filter(({ isScheduled }) => isScheduled);
  const times = scheduled.map(({ lastSuccessMs }) => lastSuccessMs);
  return times.includes(null) || times.length === 0 ? null : Math.min(...times.map((ms) => ms ?? 0));
}

function accountList(status: Status): Html {
  const { accounts, database, nowMs } = status;
  const countOf = (count: number): string => (count === 0 ? '' : formatCount(count));
  const all = table<AccountStatus>({
    rows: accounts,
    columns: [
      ['account', ({ accountId: id }) => html`<a href="?account=${encodeURIComponent(id)}">${id}</a>`],
      ['state', ({ verdict: { level } }) => badge(level, LEVEL_WORDS[level])],
      ['oldest success', (account) => (areAccountsRead(database) ? ageOf(oldestOf(account), nowMs) : '–')],
      ['running', ({ streams }) => countOf(streams.filter(({ isRunning }) => isRunning).length), 'num spare'],
      ['open issues', ({ openIssues }) => countOf(openIssues), 'num spare'],
    ],
    remark: ({ verdict: { level, sentence, details } }) =>
      level === 'good' ? null : [sentence, ...details].join(' '),
  });
  return titledCard('Accounts', all);
}

function storageRules({ keeping: rules }: Status): Html {
  const texts = [describeRetention(rules), describeProtection(rules)].filter((text) => text !== null);
  return titledCard(
    'What is kept',
    texts.map((text) => html`<p>${text}</p>`),
  );
}

function aboutAlerts({ alerts: { channels, open } }: Status): string {
  if (channels.length === 0)
    return 'No alerts are sent: neither ALERT_WEBHOOK_URL nor ALERT_EMAIL_TO is set.';
  const names = joinNames(channels.map(({ name }) => CHANNEL_WORDS[name] ?? name));
  return `Alerts are sent ${names}; ${open === 0 ? 'none is' : `${formatCount(open)} ${open === 1 ? 'is' : 'are'}`} open.`;
}

function footer(status: Status, about: string): Html {
  const { version, nowMs, startedMs, owner } = status;
  return html`<footer>
    safety-sync ${version}, up ${formatDuration(Math.max(0, nowMs - startedMs))}, ${owner}. ${about}
    ${aboutAlerts(status)} For machines: <a href="api/status">status</a>, <a href="metrics">metrics</a>,
    <a href="healthz">health</a>, <a href="readyz">readiness</a>.
  </footer>`;
}

const aboutRequests = ({ service }: AccountStatus): string =>
  service === null
    ? ''
    : `Requests in flight: ${service.inFlight}${service.waiting > 0 ? `, ${service.waiting} waiting` : ''}.`;

const aboutQueue = ({ queue: { running, slots, waiting } }: Status): string =>
  `Runs: ${formatCount(running)} of at most ${formatCount(slots)}${waiting === 0 ? '' : `, ${formatCount(waiting)} waiting`}.`;

/** Renders one account in full, or a list of several. `nonce` is that of the response's Content-Security-Policy. */
export function renderStatus(status: Status, nonce: string, isOneOfMany = false): string {
  const { verdict, accounts } = status;
  const [account] = accounts;
  const isSingle = account?.detail !== undefined;
  const about = isSingle ? account.accountId : formatNumber(accounts.length, 'account');
  const mark = verdict.level === 'good' ? '✓' : verdict.level === 'busy' ? '…' : '✗';
  const back = isOneOfMany && html`<p class="small"><a href="?">All accounts</a></p>`;
  return renderDocument({
    title: `${mark} ${verdict.sentence} ${about}`,
    head: html`${icon(verdict.level)}
      <noscript><meta http-equiv="refresh" content="${RELOAD_SECONDS}" /></noscript>`,
    style: STATUS_STYLE,
    nonce,
    body: html`<p id="lost" role="alert" hidden></p>
      <main>
        ${
          isSingle
            ? html`${back}${hero(status, { about: `Account ${about}`, timezone: account.detail.timezone })}
              ${renderAccount(status, account.detail)} ${storageRules(status)}`
            : html`${hero(status, { about, timezone: TIMEZONE, badges: levelBadges(status) })}
              ${accountList(status)} ${storageRules(status)}`
        }
      </main>
      ${footer(status, isSingle ? aboutRequests(account) : aboutQueue(status))}
      <script nonce="${nonce}">
        ${trusted(SCRIPT)};
      </script>`,
  });
}
