/** Paths → pages, all from one Status value. */
import { randomBytes } from 'node:crypto';
import { jsonPage, type Page, type Routes } from './http-server.ts';
import type { Metrics } from '../status/metrics.ts';
import { formatNumber } from '../shared/format.ts';
import { SECOND_MS } from '../shared/time.ts';
import { type Overview, type OverviewPart, pageOf } from '../status/overview.ts';
import { renderOverview } from '../pages/status/render-overview.ts';
import { renderPage } from '../pages/status/render-page.ts';
import { blotStatus, type Status, toJsonStatus } from '../status/status.ts';

export interface RoutesOptions {
  readonly status: () => Status;
  readonly metrics: Metrics;
}

/** Alive unless it is stopping or does nothing any more; a restart cures neither a database nor a service. */
export function healthPage(
  status: Pick<Status, 'worker' | 'isSchedulerAlive' | 'version' | 'nowMs' | 'startedMs' | 'notReady'>,
): Page {
  const isAlive = status.worker !== 'stopping' && status.isSchedulerAlive;
  return jsonPage(isAlive ? 200 : 503, {
    status: status.worker === 'stopping' ? 'stopping' : isAlive ? 'ok' : 'scheduler_dead',
    version: status.version,
    uptime_seconds: Math.max(0, Math.round((status.nowMs - status.startedMs) / 1000)),
    problems: status.notReady,
  });
}

/** As of when what follows was read from the database: `age_seconds` old. */
function asOf({ database: { readAtMs }, nowMs }: Pick<Status, 'database' | 'nowMs'>) {
  return {
    as_of: readAtMs === null ? null : new Date(readAtMs).toISOString(),
    age_seconds: readAtMs === null ? null : Math.max(0, Math.round((nowMs - readAtMs) / SECOND_MS)),
  };
}

export function readyPage(status: Status): Page {
  return jsonPage(status.isReady ? 200 : 503, {
    ready: status.isReady,
    reasons: status.notReady,
    ...asOf(status),
  });
}

/** Lists in answers to probes are short: they end up in event logs. */
const LISTED_REASONS = 20;

function listTrouble(overview: Overview): string[] {
  const troubled = overview.accounts.filter(({ isReady }) => !isReady);
  const listed = troubled
    .slice(0, LISTED_REASONS)
    .map(
      ({ accountId, notReady }) =>
        `${accountId}: ${notReady.map((reason) => reason.replace(/\.$/, '')).join('; ')}`,
    );
  const rest = troubled.length - listed.length;
  return rest > 0 ? [...listed, `and ${formatNumber(rest, 'account')} more`] : listed;
}

/** Of many accounts: alive as for one. */
function healthOfAll(overview: Overview): Page {
  const { status, body } = healthPage(overview);
  const alive = JSON.parse(body) as Record<string, unknown>;
  return jsonPage(status, { ...alive, problems: [...overview.notReady, ...listTrouble(overview)] });
}

/** One account in trouble takes the worker away from nobody: it is named, and asked for by itself. */
function readinessOfAll(overview: Overview): Page {
  return jsonPage(overview.isReady ? 200 : 503, {
    ready: overview.isReady,
    reasons: overview.notReady,
    ...asOf(overview),
    accounts: overview.counts,
    trouble: listTrouble(overview),
  });
}

/** Only this answer's own style and script run; the script may ask this server again. */
export function statusPage(status: Status, nonce: string, isOneOfMany = false): Page {
  return htmlPage(renderPage(status, nonce, isOneOfMany), nonce);
}

export function overviewPage(part: OverviewPart, nonce: string): Page {
  return htmlPage(renderOverview(part, nonce), nonce);
}

function htmlPage(body: string, nonce: string): Page {
  return {
    status: 200,
    contentType: 'text/html; charset=utf-8',
    body,
    headers: {
      'content-security-policy': [
        "default-src 'none'",
        `style-src 'nonce-${nonce}'`,
        `script-src 'nonce-${nonce}'`,
        'img-src data:',
        "connect-src 'self'",
        "frame-ancestors 'none'",
        "base-uri 'none'",
        "form-action 'none'",
      ].join('; '),
    },
  };
}

export function buildRoutes({ status, metrics }: RoutesOptions): Routes {
  return {
    '/': () => statusPage(status(), randomBytes(16).toString('base64')),
    '/healthz': () => healthPage(status()),
    '/readyz': () => readyPage(status()),
    '/metrics': async () => ({
      status: 200,
      contentType: metrics.contentType,
      body: await metrics.render(status()),
    }),
    '/api/status': () => jsonPage(200, toJsonStatus(status())),
  };
}

export interface AccountsRoutesOptions {
  readonly overview: () => Overview;
  /** Everything of one account; undefined: there is none of that name. */
  readonly status: (accountId: string) => Promise<Status | undefined>;
  /** Takes secrets out of what is shown. */
  readonly blot: (text: string) => string;
  readonly metrics: Metrics;
}

/** Accounts on a page, and in an answer for machines. */
const PAGE_SIZE = 50;
const JSON_SIZE = 1000;

const newNonce = (): string => randomBytes(16).toString('base64');

/** With many accounts: all of them in short, and one of them, as if it were the only one, by `?account=NAME`. */
export function buildAccountsRoutes({ overview, status, blot, metrics }: AccountsRoutesOptions): Routes {
  const part = (query: URLSearchParams, size: number): OverviewPart =>
    blotStatus(pageOf(overview(), Number(query.get('page') ?? 1) || 1, size), blot);
  const ofOne = (one: (status: Status) => Page, ofAll: (query: URLSearchParams) => Page) => {
    return async (query: URLSearchParams): Promise<Page> => {
      const accountId = query.get('account');
      if (accountId === null) return ofAll(query);
      const found = await status(accountId);
      return found === undefined ? jsonPage(404, { error: 'no account has that name' }) : one(found);
    };
  };
  return {
    '/': ofOne(
      (found) => statusPage(found, newNonce(), true),
      (query) => overviewPage(part(query, PAGE_SIZE), newNonce()),
    ),
    '/healthz': () => healthOfAll(blotStatus(pageOf(overview(), 1, JSON_SIZE), blot)),
    '/readyz': ofOne(readyPage, (query) => readinessOfAll(part(query, JSON_SIZE))),
    '/metrics': async () => ({
      status: 200,
      contentType: metrics.contentType,
      body: await metrics.render(overview()),
    }),
    '/api/status': ofOne(
      (found) => jsonPage(200, toJsonStatus(found)),
      (query) => jsonPage(200, toJsonStatus(part(query, JSON_SIZE))),
    ),
  };
}
