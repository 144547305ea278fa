/** Maps paths to pages, all rendered from one Status. */
import { randomBytes } from 'node:crypto';
import type { App } from '../../app.ts';
import { SECOND_MS, toIso } from '../../shared/time.ts';
import { renderStatus } from '../../pages/status/render-status.ts';
import { toJsonStatus } from '../status/json-status.ts';
import type { Metrics } from '../status/metrics.ts';
import { reasonsOf } from '../status/problem-words.ts';
import type { AccountDetail } from '../status/read-detail.ts';
import type { Status } from '../status/status.ts';
import { htmlPage, jsonPage, type HttpPage, type Routes } from './http-server.ts';
import type { WorkerStatus } from './worker-status.ts';

/** Paths for orchestrators and Prometheus, which may use any host name. */
export const PROBES = ['/healthz', '/readyz', '/metrics'];

/** Fails only while stopping, because a restart repairs neither a database nor a service. */
export function healthPage({ worker, version, uptimeMs }: Status): HttpPage {
  const isStopping = worker === 'stopping';
  return jsonPage(isStopping ? 503 : 200, {
    status: isStopping ? 'stopping' : 'ok',
    version,
    uptime_seconds: Math.round(uptimeMs / SECOND_MS),
  });
}

/** One failing account of several does not make the worker unready; it is listed, and has its own probe by `?account=`. */
export function readyPage({ isReady, problems, accounts, database, nowMs }: Status): HttpPage {
  const { readAtMs } = database;
  const trouble = accounts.flatMap(({ accountId, problems: own }) =>
    reasonsOf(own).map((text) => `${accountId}: ${text}`),
  );
  return jsonPage(isReady ? 200 : 503, {
    ready: isReady,
    reasons: reasonsOf(problems),
    as_of: toIso(readAtMs),
    age_seconds: readAtMs === null ? null : Math.max(0, Math.round((nowMs - readAtMs) / SECOND_MS)),
    ...(accounts.length === 1 ? {} : { trouble }),
  });
}

/** The policy admits only this response's own style. */
export function statusPage(status: Status, detail: AccountDetail | null): HttpPage {
  const nonce = randomBytes(16).toString('base64');
  const policy = `default-src 'none'; style-src 'nonce-${nonce}'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'`;
  return htmlPage(renderStatus(status, detail, nonce), policy);
}

/** Without a query: all accounts. With `?account=NAME`, or where there is only one: one account with its details. */
export function buildRoutes(
  { accountIds, redact }: Pick<App, 'accountIds' | 'redact'>,
  { status, readDetail }: WorkerStatus,
  metrics: Metrics,
): Routes {
  const route =
    (toPage: (status: Status, detail: AccountDetail | null) => HttpPage, isInFull: boolean) =>
    async (query: URLSearchParams): Promise<HttpPage> => {
      const [only = null] = accountIds.length === 1 ? accountIds : [];
      const accountId = query.get('account') ?? only;
      if (accountId !== null && !accountIds.includes(accountId))
        return jsonPage(404, { error: 'no account has that name' });
      const detail = accountId === null || !isInFull ? null : await readDetail(accountId);
      const page = toPage(status(accountId, detail), detail);
      return { ...page, body: redact(String(page.body)) };
    };
  return {
    '/': route(statusPage, true),
    '/healthz': () => healthPage(status()),
    '/readyz': route(readyPage, false),
    '/metrics': async () => ({
      status: 200,
      contentType: metrics.contentType,
      body: await metrics.render(status()),
    }),
    '/api/status': route((found, detail) => jsonPage(200, toJsonStatus(found, detail)), true),
  };
}
