/** Maps paths to pages, all rendered from one Status. */
import { randomBytes } from 'node:crypto';
import { formatNumber } from '../../shared/format.ts';
import { SECOND_MS, toIso } from '../../shared/time.ts';
import { renderStatus } from '../../pages/status/render-status.ts';
import { redactStatus, toJsonStatus } from '../status/json-status.ts';
import type { Metrics } from '../status/metrics.ts';
import { pageOf, type Status } from '../status/build-status.ts';
import { jsonPage, type HttpPage, type Routes } from './http-server.ts';

interface RoutesOptions {
  /** Status of all accounts. */
  readonly status: () => Status;
  /** Status of one account with its details; undefined: no such account. */
  readonly statusOfOne: (accountId: string) => Promise<Status | undefined>;
  /** Removes secrets from texts. */
  readonly redact: (text: string) => string;
  readonly metrics: Metrics;
}

/** Paths for orchestrators and Prometheus, which may use any host name. */
export const PROBES = ['/healthz', '/readyz', '/metrics'];

/** Probe responses are kept short, because orchestrators copy them into event logs. */
const LISTED_REASONS = 20;
/** Accounts per HTML page, and per JSON response. */
const PAGE_SIZE = 50;
const JSON_SIZE = 1000;

/** The accounts that are not ready. */
const troubledOf = ({ accounts }: Status) => accounts.filter(({ isReady }) => !isReady);

/**
 * Lists accounts of a page that are not ready, and counts the others of all pages. With a single account the reasons of the
 * process already include its own.
 */
function listTrouble(page: Status, all: Status): string[] {
  if (page.accountCount === 1) return [];
  const listed = troubledOf(page)
    .slice(0, LISTED_REASONS)
    .map(
      ({ accountId, notReady }) =>
        `${accountId}: ${notReady.map((reason) => reason.replace(/\.$/, '')).join('; ')}`,
    );
  const rest = troubledOf(all).length - listed.length;
  return rest > 0 ? [...listed, `and ${formatNumber(rest, 'account')} more`] : listed;
}

/** Fails only while stopping, because a restart repairs neither a database nor a service. `all`: where `status` is one page of several. */
export function healthPage(status: Status, all = status): HttpPage {
  const isStopping = status.worker === 'stopping';
  return jsonPage(isStopping ? 503 : 200, {
    status: isStopping ? 'stopping' : 'ok',
    version: status.version,
    uptime_seconds: Math.max(0, Math.round((status.nowMs - status.startedMs) / SECOND_MS)),
    problems: [...status.verdict.details, ...listTrouble(status, all)],
  });
}

/** When the data was read from the database, and its age. */
function statusAsOf({ database: { readAtMs }, nowMs }: Status) {
  return {
    as_of: toIso(readAtMs),
    age_seconds: readAtMs === null ? null : Math.max(0, Math.round((nowMs - readAtMs) / SECOND_MS)),
  };
}

/** One failing account of several does not make the worker unready; it is listed, and has its own probe by `?account=`. */
export function readyPage(status: Status, all = status): HttpPage {
  return jsonPage(status.isReady ? 200 : 503, {
    ready: status.isReady,
    reasons: status.notReady,
    ...statusAsOf(status),
    ...(status.accountCount === 1 ? {} : { accounts: status.counts, trouble: listTrouble(status, all) }),
  });
}

/** The policy admits only this response's own style and script, and requests of the script to this server. */
export function statusPage(status: Status, nonce: string, isOneOfMany = false): HttpPage {
  return {
    status: 200,
    contentType: 'text/html; charset=utf-8',
    body: renderStatus(status, nonce, isOneOfMany),
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

const newNonce = (): string => randomBytes(16).toString('base64');

/** Without a query: all accounts, in pages. With `?account=NAME`: one account with its details. */
export function buildRoutes({ status, statusOfOne, redact, metrics }: RoutesOptions): Routes {
  /** The details of a single account, or one page of several. */
  const shown = (query: URLSearchParams, size: number): Status => {
    const all = status();
    const page = Math.trunc(Number(query.get('page') ?? 1)) || 1;
    return redactStatus(all.accountCount === 1 ? all : pageOf(all, page, size), redact);
  };
  const route = (size: number, toPage: (status: Status, all: Status, isOneOfMany: boolean) => HttpPage) => {
    return async (query: URLSearchParams): Promise<HttpPage> => {
      const accountId = query.get('account');
      const all = status();
      const isOnly = all.accountCount === 1 && all.accounts[0]?.accountId === accountId;
      if (accountId === null || isOnly) return toPage(shown(query, size), all, false);
      const found = await statusOfOne(accountId);
      if (found === undefined) return jsonPage(404, { error: 'no account has that name' });
      return toPage(redactStatus(found, redact), found, true);
    };
  };
  return {
    '/': route(PAGE_SIZE, (found, _, isOneOfMany) => statusPage(found, newNonce(), isOneOfMany)),
    '/healthz': () => healthPage(shown(new URLSearchParams(), JSON_SIZE), status()),
    '/readyz': route(JSON_SIZE, readyPage),
    '/metrics': async () => ({
      status: 200,
      contentType: metrics.contentType,
      body: await metrics.render(status()),
    }),
    '/api/status': route(JSON_SIZE, (found) => jsonPage(200, toJsonStatus(found))),
  };
}
