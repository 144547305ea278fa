/** Paths → pages, all from one Status value. */
import { randomBytes } from 'node:crypto';
import { jsonPage, type Page, type Routes } from './http-server.ts';
import type { Metrics } from './metrics.ts';
import { renderPage } from './page/render-page.ts';
import { type Status, toJsonStatus } from './status.ts';

export interface RoutesOptions {
  readonly status: () => Status;
  readonly metrics: Metrics;
}

/** Alive unless it is stopping or does nothing any more; a restart cures neither a database nor a service. */
export function healthPage(status: Status): Page {
  const isAlive = status.worker !== 'stopping' && status.isSchedulerAlive;
  return jsonPage(isAlive ? 200 : 503, {
    status: status.worker === 'stopping' ? 'stopping' : isAlive ? 'ok' : 'scheduler_dead',
    version: status.version,
    uptime_seconds: Math.max(0, Math.round((status.nowMs - status.startedMs) / 1000)),
    problems: status.notReady,
  });
}

export function readyPage(status: Status): Page {
  return jsonPage(status.isReady ? 200 : 503, { ready: status.isReady, reasons: status.notReady });
}

/** Only this answer's own style and script run; the script may ask this server again. */
export function statusPage(status: Status, nonce: string): Page {
  return {
    status: 200,
    contentType: 'text/html; charset=utf-8',
    body: renderPage(status, nonce),
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
