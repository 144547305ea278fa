/** Maps paths to pages, all rendered from one Status. */
import { randomBytes } from 'node:crypto';
import { SECOND_MS, toIso } from '../../shared/time.ts';
import { renderStatus } from '../../pages/status/render-status.ts';
import { redactStatus, toJsonStatus } from '../status/json-status.ts';
import type { Metrics } from '../status/metrics.ts';
import { reasonsOf, textsOf } from '../status/problem-words.ts';
import type { Status } from '../status/status.ts';
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

/** The problems of several accounts with their names; those of a single one belong to the process. */
const ofAccounts = ({ accounts }: Status, toTexts: typeof textsOf): string[] =>
  accounts.length === 1
    ? []
    : accounts.flatMap(({ accountId, problems }) => toTexts(problems).map((text) => `${accountId}: ${text}`));

/** Fails only while stopping, because a restart repairs neither a database nor a service. */
export function healthPage(status: Status): HttpPage {
  const isStopping = status.worker === 'stopping';
  return jsonPage(isStopping ? 503 : 200, {
    status: isStopping ? 'stopping' : 'ok',
    version: status.version,
    uptime_seconds: Math.max(0, Math.round((status.nowMs - status.startedMs) / SECOND_MS)),
    problems: [...textsOf(status.problems), ...ofAccounts(status, textsOf)],
  });
}

/** One failing account of several does not make the worker unready; it is listed, and has its own probe by `?account=`. */
export function readyPage(status: Status): HttpPage {
  const { nowMs, accounts, counts, database } = status;
  const { readAtMs } = database;
  return jsonPage(status.isReady ? 200 : 503, {
    ready: status.isReady,
    reasons: reasonsOf(status.problems),
    as_of: toIso(readAtMs),
    age_seconds: readAtMs === null ? null : Math.max(0, Math.round((nowMs - readAtMs) / SECOND_MS)),
    ...(accounts.length === 1 ? {} : { accounts: counts, trouble: ofAccounts(status, reasonsOf) }),
  });
}

/** The policy admits only this response's own style and script, and requests of the script to this server. */
export function statusPage(status: Status, isOneOfMany = false): HttpPage {
  const nonce = randomBytes(16).toString('base64');
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

/** Without a query: all accounts. With `?account=NAME`: one account with its details. */
export function buildRoutes({ status, statusOfOne, redact, metrics }: RoutesOptions): Routes {
  const route =
    (toPage: (status: Status, isOneOfMany: boolean) => HttpPage) =>
    async (query: URLSearchParams): Promise<HttpPage> => {
      const accountId = query.get('account');
      const all = status();
      const [only] = all.accounts.length === 1 ? all.accounts : [];
      if (accountId === null || only?.accountId === accountId)
        return toPage(redactStatus(all, redact), false);
      const found = await statusOfOne(accountId);
      if (found === undefined) return jsonPage(404, { error: 'no account has that name' });
      return toPage(redactStatus(found, redact), true);
    };
  return {
    '/': route(statusPage),
    '/healthz': () => healthPage(redactStatus(status(), redact)),
    '/readyz': route(readyPage),
    '/metrics': async () => ({
      status: 200,
      contentType: metrics.contentType,
      body: await metrics.render(status()),
    }),
    '/api/status': route((found) => jsonPage(200, toJsonStatus(found))),
  };
}
