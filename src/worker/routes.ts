/** Paths → pages, all from one Status value. */
import { randomBytes } from 'node:crypto';
import { formatNumber } from '../shared/format.ts';
import { SECOND_MS, toIso } from '../shared/time.ts';
import { renderStatus } from '../pages/status/render-status.ts';
import { redactStatus, toJsonStatus } from '../status/json-status.ts';
import type { Metrics } from '../status/metrics.ts';
import { pageOf, type ProcessStatus, type Status } from '../status/status.ts';
import { jsonPage, type Page, type Routes } from './http-server.ts';

interface RoutesOptions {
  /** Of all accounts. */
  readonly status: () => Status;
  /** Of one of several, with its details; undefined: there is none of that name. */
  readonly statusOfOne: (accountId: string) => Promise<Status | undefined>;
  /** Takes secrets out of what is shown. */
  readonly redact: (text: string) => string;
  readonly metrics: Metrics;
}

/** What orchestrators and Prometheus ask for, by whatever name they know the worker. */
export const PROBES = ['/healthz', '/readyz', '/metrics'];

/** Lists in responses to probes are short: they end up in event logs. */
const LISTED_REASONS = 20;
/** Accounts on a page, and in a response for machines. */
const PAGE_SIZE = 50;
const JSON_SIZE = 1000;

/** Of several accounts those that are not ready; of one its reasons stand for the process already. */
function listTrouble({ accounts, accountCount }: Status): string[] {
  if (accountCount === 1) return [];
  const troubled = accounts.filter(({ isReady }) => !isReady);
  const listed = troubled
    .slice(0, LISTED_REASONS)
    .map(
      ({ accountId, notReady }) =>
        `${accountId}: ${notReady.map((reason) => reason.replace(/\.$/, '')).join('; ')}`,
    );
  const rest = troubled.length - listed.length;
  return rest > 0 ? [...listed, `and ${formatNumber(rest, 'account')} more`] : listed;
}

/** Alive unless it is stopping or does nothing any more; a restart cures neither a database nor a service. */
export function healthPage(status: Status): Page {
  const isAlive = status.worker !== 'stopping' && status.isSchedulerAlive;
  return jsonPage(isAlive ? 200 : 503, {
    status: status.worker === 'stopping' ? 'stopping' : isAlive ? 'ok' : 'scheduler_dead',
    version: status.version,
    uptime_seconds: Math.max(0, Math.round((status.nowMs - status.startedMs) / SECOND_MS)),
    problems: [...status.notReady, ...listTrouble(status)],
  });
}

/** As of when what follows was read from the database: `age_seconds` old. */
function asOf({ database: { readAtMs }, nowMs }: ProcessStatus) {
  return {
    as_of: toIso(readAtMs),
    age_seconds: readAtMs === null ? null : Math.max(0, Math.round((nowMs - readAtMs) / SECOND_MS)),
  };
}

/** One account of several that is not ready takes the worker away from nobody: it is named, and asked for by itself. */
export function readyPage(status: Status): Page {
  return jsonPage(status.isReady ? 200 : 503, {
    ready: status.isReady,
    reasons: status.notReady,
    ...asOf(status),
    ...(status.accountCount === 1 ? {} : { accounts: status.counts, trouble: listTrouble(status) }),
  });
}

/** Only this response's own style and script run; the script may ask this server again. */
export function statusPage(status: Status, nonce: string, isOneOfMany = false): Page {
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

/** Of several accounts: all of them in short, and one of them, as if it were the only one, by `?account=NAME`. */
export function buildRoutes({ status, statusOfOne, redact, metrics }: RoutesOptions): Routes {
  /** All of one account; of several a page. */
  const shown = (query: URLSearchParams, size: number): Status => {
    const all = status();
    const page = Number(query.get('page') ?? 1) || 1;
    return redactStatus(all.accountCount === 1 ? all : pageOf(all, page, size), redact);
  };
  const route = (size: number, toPage: (status: Status, isOneOfMany: boolean) => Page) => {
    return async (query: URLSearchParams): Promise<Page> => {
      const accountId = query.get('account');
      if (accountId === null || status().accountCount === 1) return toPage(shown(query, size), false);
      const found = await statusOfOne(accountId);
      if (found === undefined) return jsonPage(404, { error: 'no account has that name' });
      return toPage(redactStatus(found, redact), true);
    };
  };
  return {
    '/': route(PAGE_SIZE, (found, isOneOfMany) => statusPage(found, newNonce(), isOneOfMany)),
    '/healthz': () => healthPage(shown(new URLSearchParams(), JSON_SIZE)),
    '/readyz': route(JSON_SIZE, readyPage),
    '/metrics': async () => ({
      status: 200,
      contentType: metrics.contentType,
      body: await metrics.render(status()),
    }),
    '/api/status': route(JSON_SIZE, (found) => jsonPage(200, toJsonStatus(found))),
  };
}
