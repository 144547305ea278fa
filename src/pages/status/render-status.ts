/** Renders a Status as one HTML document without external requests. Pure. */
import { formatCount, formatDuration, formatNumber, formatTime } from '../../shared/format.ts';
import type { AccountStatus, Status } from '../../operate/status/build-status.ts';
import { areAccountsRead, type Level } from '../../operate/status/status.ts';
import { CHANNEL_WORDS } from '../../operate/status/verdict.ts';
import { renderDocument } from '../document.ts';
import { type Html, html, list, trusted } from '../html.ts';
import { STATUS_STYLE } from '../style.ts';
import { table } from '../table.ts';
import { ageOf, clockTime, describeProtection, describeRetention, knownBadge, NOT_READ } from '../words.ts';
import { moment, renderAccount, titledCard } from './render-account.ts';

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

/** The overall state in the largest font, with account and age below. */
function hero(
  { verdict, database, nowMs }: Status,
  { about, timezone, badges }: { about: string; timezone: string; badges?: Html },
): Html {
  const isOld = database.readAtMs !== null && (database.isOld || !database.isUp);
  const asOf =
    database.readAtMs === null
      ? 'Nothing was read from the database yet.'
      : html`As of ${moment(database.readAtMs, clockTime(database.readAtMs, timezone), timezone)}
        ${timezone}${isOld && html`, ${ageOf(database.readAtMs, nowMs)}: ${database.isUp ? 'the database responds slowly' : 'the last known state'}`}.`;
  return html`<header class="hero ${verdict.level}">
    <h1>${verdict.sentence}</h1>
    ${verdict.details.length > 0 && list(verdict.details)} ${badges ?? null}
    <p class="${isOld ? 'old' : 'dim'}">${about}. ${asOf}</p>
  </header>`;
}

function toBadge(level: Level, { database }: Status, count?: number): Html {
  const isUnknown = level === 'busy' && !areAccountsRead(database);
  const of = (word: string) => (count === undefined ? word : `${formatCount(count)} ${word}`);
  const badge = isUnknown
    ? { level: 'off', text: of(NOT_READ) }
    : knownBadge({ level, text: of(LEVEL_WORDS[level]) }, database);
  return html`<span class="badge ${badge.level}">${badge.text}</span>`;
}

function levelBadges(status: Status): Html {
  const { counts } = status;
  const levels = (['bad', 'warning', 'busy', 'good'] as const).filter((level) => counts[level] > 0);
  return html`<p>${levels.map((level) => html`${toBadge(level, status, counts[level])} `)}</p>`;
}

/** The oldest last success of the scheduled streams. */
function oldestOf({ streams }: AccountStatus): number | null {
  const scheduled = streams.filter(({ isScheduled }) => isScheduled);
  const times = scheduled.map(({ lastSuccessMs }) => lastSuccessMs);
  return times.includes(null) || times.length === 0 ? null : Math.min(...times.map((ms) => ms ?? 0));
}

function pageLinks({ page = 1, pages = 1 }: Status): Html | null {
  if (pages === 1) return null;
  const link = (to: number, text: string) => html`<a href="?page=${to}">${text}</a> `;
  return html`<p class="small">
    ${page > 1 && link(page - 1, 'previous')}page ${page} of ${pages}
    ${page < pages && link(page + 1, 'next')}
  </p>`;
}

function accountList(status: Status): Html {
  const { accounts, database, nowMs } = status;
  const countOf = (count: number): string => (count === 0 ? '' : formatCount(count));
  const all = table<AccountStatus>({
    rows: accounts,
    columns: [
      ['account', ({ accountId: id }) => html`<a href="?account=${encodeURIComponent(id)}">${id}</a>`],
      ['state', ({ verdict }) => toBadge(verdict.level, status)],
      ['oldest success', (account) => (areAccountsRead(database) ? ageOf(oldestOf(account), nowMs) : '–')],
      [
        'running',
        ({ streams }) => countOf(streams.filter(({ running }) => running !== null).length),
        'num spare',
      ],
      ['open issues', ({ openIssues }) => countOf(openIssues), 'num spare'],
    ],
    remark: ({ verdict: { level, sentence, details } }) =>
      level === 'good' ? null : [sentence, ...details].join(' '),
  });
  return titledCard('Accounts', [all, pageLinks(status)]);
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
  const namesOf = (isRefused: boolean): string =>
    channels
      .filter(({ problem }) => (problem !== null) === isRefused)
      .map(({ name }) => CHANNEL_WORDS[name])
      .join(' and ');
  const [sent, refused] = [namesOf(false), namesOf(true)];
  const opened = `${open === 0 ? 'none is' : open === 1 ? '1 is' : `${formatCount(open)} are`} open`;
  if (sent === '') return `Alerts do not arrive ${refused}; ${opened}.`;
  return `Alerts are sent ${sent}; ${opened}.${refused === '' ? '' : ` They do not arrive ${refused}.`}`;
}

function footer(status: Status, about: Html): Html {
  const { version, nowMs, startedMs, owner } = status;
  return html`<footer>
    safety-sync ${version}, up ${formatDuration(Math.max(0, nowMs - startedMs))}, ${owner}. ${about}
    ${aboutAlerts(status)} For machines: <a href="api/status">status</a>, <a href="metrics">metrics</a>,
    <a href="healthz">health</a>, <a href="readyz">readiness</a>.
  </footer>`;
}

function aboutRequests({ service, blockedUntilMs }: AccountStatus, nowMs: number): Html {
  const isBlocked = blockedUntilMs !== null && blockedUntilMs > nowMs;
  return html`${service !== null && html`Requests in flight: ${service.inFlight}${service.waiting > 0 && html`, ${service.waiting} waiting`}.`}
    ${isBlocked && html`Waiting for the request limit until ${formatTime(blockedUntilMs)}.`}<br />Bars of a
    stream: its last runs, up for how long they took, down for how many rows they changed.`;
}

function aboutQueue({ queue }: Status): Html {
  const waiting = queue.waiting === 0 ? '' : `, ${formatCount(queue.waiting)} waiting`;
  return html`Slots in use: ${formatCount(queue.running)} of ${formatCount(queue.slots)}${waiting}.`;
}

/** Renders one account in full, or a list of several. `nonce` is that of the response's Content-Security-Policy. */
export function renderStatus(status: Status, nonce: string, isOneOfMany = false): string {
  const { verdict, accounts, accountCount } = status;
  const [account] = accounts;
  const isSingle = account?.detail !== undefined;
  const about = isSingle ? account.accountId : formatNumber(accountCount, 'account');
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
      ${footer(status, isSingle ? aboutRequests(account, status.nowMs) : aboutQueue(status))}
      <script nonce="${nonce}">
        ${trusted(SCRIPT)};
      </script>`,
  });
}
