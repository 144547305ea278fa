/** The HTTP server of `start`: routing, and response headers for security. */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { type AddressInfo, isIP } from 'node:net';
import { SafetySyncError } from '../../shared/errors.ts';

export interface HttpPage {
  readonly status: number;
  readonly contentType: string;
  readonly body: string | Uint8Array;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Handlers by path, called with the query. They must be quick and must not fail while the database is away. */
export type Routes = Readonly<Record<string, (query: URLSearchParams) => HttpPage | Promise<HttpPage>>>;

interface HttpServerOptions {
  readonly host: string;
  readonly port: number;
  /** Host names under which the pages are served, besides addresses, localhost and `host`. */
  readonly allowedHosts: readonly string[];
  readonly routes: Routes;
  /** Paths that are served under any host name, because their pages contain no personal data. */
  readonly openPaths: readonly string[];
  readonly onError: (path: string, error: unknown) => void;
}

/** Forbids loading, scripts and frames; a page that needs more overrides the policy. */
const HEADERS = {
  'cache-control': 'no-store',
  'content-security-policy':
    "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
} as const;

export function jsonPage(status: number, body: unknown, headers: HttpPage['headers'] = {}): HttpPage {
  return {
    status,
    contentType: 'application/json; charset=utf-8',
    body: `${JSON.stringify(body)}\n`,
    headers,
  };
}

/** `policy`: its Content-Security-Policy, which admits its style. */
export const htmlPage = (body: string, policy: string): HttpPage => ({
  status: 200,
  contentType: 'text/html; charset=utf-8',
  body,
  headers: { 'content-security-policy': policy },
});

/**
 * Guards against DNS rebinding: another site may point its own name at this server, so that its script can read these pages
 * under that name. An IP address in `Host` is safe, because it cannot be redirected.
 */
function isAllowedHost(header: string | undefined, { host, allowedHosts }: HttpServerOptions): boolean {
  // HTTP/1.0 without `Host`: not a browser.
  if (header === undefined) return true;
  const name = header
    .replace(/:\d*$/, '')
    .replace(/^\[|\]$/g, '')
    .toLowerCase();
  if (isIP(name) !== 0 || name === 'localhost') return true;
  return [host, ...allowedHosts].some((one) => one.toLowerCase() === name);
}

async function pageFor(request: IncomingMessage, options: HttpServerOptions): Promise<HttpPage> {
  const [path = '/', ...query] = (request.url ?? '/').split('?');
  const route = Object.hasOwn(options.routes, path) ? options.routes[path] : undefined;
  if (route === undefined) {
    return jsonPage(404, { error: 'not found', there_is: Object.keys(options.routes) });
  }
  if (!options.openPaths.includes(path) && !isAllowedHost(request.headers.host, options)) {
    return jsonPage(421, { error: 'unknown host name: list it in HTTP_ALLOWED_HOSTS' });
  }
  if (request.method !== 'GET' && request.method !== 'HEAD') {
    return jsonPage(405, { error: 'only GET' }, { allow: 'GET, HEAD' });
  }
  try {
    return await route(new URLSearchParams(query.join('?')));
  } catch (error) {
    options.onError(path, error);
    return jsonPage(500, { error: 'a defect of safety-sync; see its log' });
  }
}

async function respond(
  request: IncomingMessage,
  response: ServerResponse,
  options: HttpServerOptions,
): Promise<void> {
  const { status, contentType, body, headers } = await pageFor(request, options);
  response.writeHead(status, {
    ...HEADERS,
    'content-type': contentType,
    'content-length': Buffer.byteLength(body),
    ...headers,
  });
  response.end(request.method === 'HEAD' ? undefined : body);
}

export async function startHttpServer(options: HttpServerOptions) {
  const { host, port } = options;
  const server = createServer((request, response) => {
    // Request bodies are discarded, because an unread body would block the connection.
    request.resume();
    void respond(request, response, options);
  });
  try {
    server.listen(port, host);
    await once(server, 'listening');
  } catch (error) {
    const message = `cannot serve HTTP on ${host}:${port}: ${(error as Error).message}; set HTTP_HOST and HTTP_PORT`;
    throw new SafetySyncError('configuration_invalid', message, { cause: error });
  }
  const address = server.address() as AddressInfo;
  return {
    url: `http://${host.includes(':') ? `[${host}]` : host}:${address.port}`,
    async close() {
      server.closeAllConnections();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}
