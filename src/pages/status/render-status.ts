/** Renders a Status as one HTML document without scripts and external requests, which reloads itself. Pure. */
import { formatCount, formatDuration, formatNumber } from '../../shared/format.ts';
import { SECOND_MS } from '../../shared/time.ts';
import type { AccountDetail } from '../../operate/status/read-detail.ts';
import {
  type AccountStatus,
  areAccountsRead,
  type Level,
  LEVELS,
  type Status,
} from '../../operate/status/status.ts';
import { renderDocument } from '../document.ts';
import { type Html, html, list } from '../html.ts';
import { STATUS_STYLE } from '../style.ts';
import { table } from '../table.ts';
import { clockTime } from '../words.ts';
import { ageOf, badge, moment, renderAccount, titledCard } from './render-account.ts';

const RELOAD_SECONDS = 15;

const LEVEL_WORDS: Readonly<Record<Level, string>> = {
  good: 'healthy',
  busy: 'first sync',
  warning: 'warning',
  bad: 'unhealthy',
};

/** A read that is older than this is shown with its age. */
const OLD_MS = 12 * SECOND_MS;

/** The overall state in the largest font, with account and age below. */
function hero({ verdict, database, nowMs }: Status, about: string, timezone: string): Html {
  const { readAtMs, isUp } = database;
  const isOld = readAtMs !== null && (!isUp || nowMs - readAtMs > OLD_MS);
  const asOf =
    readAtMs === null
      ? 'Nothing was read from the database yet.'
      : html`As of ${moment(readAtMs, clockTime(readAtMs, timezone), timezone)}
        ${timezone}${isOld && html`, ${ageOf(readAtMs, nowMs)}${!isUp && ': the last known state'}`}.`;
  return html`<header class="hero ${verdict.level}">
    <h1>${verdict.sentence}</h1>
    ${verdict.details.length > 0 && list(verdict.details)}
    <p class="${isOld ? 'old' : 'dim'}">${about}. ${asOf}</p>
  </header>`;
}

/** The oldest last success of the scheduled streams. */
function oldestOf({ streams }: AccountStatus): number | null {
  const times = streams.flatMap(({ isScheduled, lastSuccessMs }) => (isScheduled ? [lastSuccessMs] : []));
  return times.includes(null) || times.length === 0 ? null : Math.min(...times.map((ms) => ms ?? 0));
}

function accountList(status: Status): Html {
  const { accounts, nowMs } = status;
  const all = table<AccountStatus>({
    rows: accounts,
    columns: [
      ['account', ({ accountId: id }) => html`<a href="?account=${encodeURIComponent(id)}">${id}</a>`],
      ['state', ({ verdict: { level } }) => badge(level, LEVEL_WORDS[level])],
      ['oldest success', (account) => (areAccountsRead(status) ? ageOf(oldestOf(account), nowMs) : '–')],
      ['running', ({ streams }) => streams.filter(({ isRunning }) => isRunning).length, 'num spare'],
      ['open issues', ({ streams }) => streams.reduce((sum, one) => sum + one.openIssues, 0), 'num spare'],
    ],
    remark: ({ verdict: { level, details } }) => (level === 'good' ? null : details.join(' ')),
  });
  const badges = LEVELS.map((level) => {
    const count = accounts.filter(({ verdict }) => verdict.level === level).length;
    return count > 0 && html`${badge(level, `${formatCount(count)} ${LEVEL_WORDS[level]}`)} `;
  });
  return titledCard(
    'Accounts',
    html`<p>${badges}</p>
      ${all}`,
  );
}

function aboutAlerts({ alerts: { channels } }: Status): string {
  if (channels.length === 0)
    return 'No alerts are sent: neither ALERT_WEBHOOK_URL nor ALERT_EMAIL_TO is set.';
  return `Alerts are sent by ${channels.map(({ name }) => name).join(' and ')}.`;
}

/** One account in full, or a list of several. `nonce` is that of the response's Content-Security-Policy. */
export function renderStatus(status: Status, detail: AccountDetail | null, nonce: string): string {
  const { verdict, accounts, version, uptimeMs, owner } = status;
  const [only] = accounts.length === 1 ? accounts : [];
  const about = only === undefined ? formatNumber(accounts.length, 'account') : `Account ${only.accountId}`;
  const mark = verdict.level === 'good' ? '✓' : verdict.level === 'busy' ? '…' : '✗';
  return renderDocument({
    title: `${mark} ${verdict.sentence} ${about}`,
    head: html`<meta http-equiv="refresh" content="${RELOAD_SECONDS}" />`,
    style: STATUS_STYLE,
    nonce,
    body: html`<main>
        ${hero(status, about, detail?.timezone ?? 'UTC')}
        ${only === undefined ? accountList(status) : renderAccount(status, detail)}
      </main>
      <footer>
        safety-sync ${version}, up ${formatDuration(uptimeMs)}, ${owner}. ${aboutAlerts(status)} For machines:
        <a href="api/status">status</a>, <a href="metrics">metrics</a>, <a href="healthz">health</a>,
        <a href="readyz">readiness</a>.
      </footer>`,
  });
}
