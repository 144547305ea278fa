/** Requests to one HTTP server, through the proxy that the environment names for it. */
import { BlockList, isIP } from 'node:net';
import type { Dispatcher } from 'undici';
// Only these files of undici are imported, because the other hundred take 20 ms of the start and 6 MB.
import sendConnect from 'undici/lib/api/api-connect.js';
import sendRequest from 'undici/lib/api/api-request.js';
import Pool from 'undici/lib/dispatcher/pool.js';
import ProxyAgent from 'undici/lib/dispatcher/proxy-agent.js';
import { SafetySyncError } from './errors.ts';
import { MINUTE_MS, SECOND_MS } from './time.ts';

/** Whether a host is on the list of `NO_PROXY`: `*`, a host with everything below it, an address, or a range such as 10.0.0.0/8. */
function isExcepted(host: string, noProxy: string): boolean {
  return noProxy
    .toLowerCase()
    .split(/[\s,]+/)
    .filter((entry) => entry !== '')
    .some((entry) => {
      const [network = '', bits] = entry.split('/');
      const family = isIP(network) === 6 ? 'ipv6' : 'ipv4';
      if (bits !== undefined && isIP(network) !== 0 && isIP(network) === isIP(host)) {
        const range = new BlockList();
        range.addSubnet(network, Number(bits), family);
        return range.check(host, family);
      }
      const name = entry.replace(/^\*?\.|:\d+$/g, '');
      return entry === '*' || host === name || host.endsWith(`.${name}`);
    });
}

/**
 * The proxy for an address, by the variables that curl reads: those in lower case come first, and of HTTP_PROXY only the one in
 * lower case counts. Error: `configuration_invalid`.
 */
export function proxyFor(address: URL, env: NodeJS.ProcessEnv = process.env): URL | undefined {
  const host = address.hostname.replace(/^\[(.*)\]$/, '$1').toLowerCase();
  const isThisMachine = host === 'localhost' || host === '::1' || /^127\.[\d.]+$/.test(host);
  if (isThisMachine || isExcepted(host, env['no_proxy'] ?? env['NO_PROXY'] ?? '')) return undefined;
  const names =
    address.protocol === 'https:'
      ? ['https_proxy', 'HTTPS_PROXY', 'all_proxy', 'ALL_PROXY']
      : ['http_proxy', 'all_proxy', 'ALL_PROXY'];
  const name = names.find((one) => (env[one] ?? '') !== '');
  if (name === undefined) return undefined;
  const text = env[name] ?? '';
  const url = text.includes('://') ? text : `http://${text}`;
  if (URL.canParse(url) && /^(?:https?|socks5h?):$/.test(new URL(url).protocol)) return new URL(url);
  throw new SafetySyncError(
    'configuration_invalid',
    `${name}: expected the address of a proxy, such as http://proxy.example.com:3128, got something else (not shown)`,
  );
}

interface AgentOptions {
  /** Most connections; a request has one to itself. */
  readonly connections: number;
  readonly connectTimeoutMs: number;
}

/** undici uses a little less than a service announces, so that no request uses a connection that the service is closing. */
const KEEP_ALIVE_MS = 4 * SECOND_MS;

/** Names the proxy in the error of a request, without its user and password; a refusal of the proxy has a code of its own. */
function toProxyError(error: unknown, { host }: URL): unknown {
  if (!(error instanceof Error)) return error;
  const [, status] = /^Proxy response \((\d+)\)/.exec(error.message) ?? [];
  const code = status === undefined ? (error as NodeJS.ErrnoException).code : `PROXY_HTTP_${status}`;
  const said = status === undefined ? error.message : `it answered with HTTP ${status}`;
  return Object.assign(new Error(`through the proxy ${host}: ${said}`, { cause: error }), {
    code,
    proxy: host,
  });
}

/** With the method that undici adds to its dispatchers when it is imported as a whole. */
const toProxy = (proxy: URL, options: object): Dispatcher =>
  Object.assign(new Pool(proxy, options), { connect: sendConnect });

/** Redirects are not followed, and there is no limit of time but the signal's. */
export function createHttpAgent(origin: string, { connections, connectTimeoutMs }: AgentOptions) {
  const proxy = proxyFor(new URL(origin));
  // TLS 1.2: specification, "Common protocol".
  const tls = { timeout: connectTimeoutMs, minVersion: 'TLSv1.2' } as const;
  const limits = {
    connections,
    pipelining: 1,
    keepAliveTimeout: KEEP_ALIVE_MS,
    keepAliveMaxTimeout: MINUTE_MS,
    headersTimeout: 0,
    bodyTimeout: 0,
  };
  const dispatcher =
    proxy === undefined
      ? new Pool(origin, { ...limits, connect: tls })
      : new ProxyAgent({
          ...limits,
          uri: proxy.href,
          requestTls: tls,
          proxyTls: tls,
          proxyTunnel: false,
          clientFactory: toProxy,
        });
  return {
    /** Host and port; undefined: there is none. */
    proxy: proxy?.host,
    async request(options: Omit<Dispatcher.RequestOptions, 'origin'>): Promise<Dispatcher.ResponseData> {
      try {
        return await sendRequest.call(dispatcher, { ...options, origin });
      } catch (error) {
        throw proxy === undefined ? error : toProxyError(error, proxy);
      }
    },
    close: (): Promise<void> => dispatcher.destroy(),
  };
}
