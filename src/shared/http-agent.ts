/** Requests to one HTTP server, through the proxy of HTTPS_PROXY unless NO_PROXY has its host. */
import { type Dispatcher, EnvHttpProxyAgent, Pool } from 'undici';
import { SafetySyncError } from './errors.ts';
import { isLoopback } from './loopback.ts';
import { MINUTE_MS, SECOND_MS } from './time.ts';

/** undici uses a little less than a service announces, so that no request uses a connection that the service is closing. */
const KEEP_ALIVE_MS = 4 * SECOND_MS;

/** Empty: none. Error: `configuration_invalid`. */
function readProxy(): string {
  const { https_proxy: lower, HTTPS_PROXY: upper } = process.env;
  const text = lower ?? upper ?? '';
  const url = text === '' || text.includes('://') ? text : `http://${text}`;
  if (url === '' || (URL.canParse(url) && ['http:', 'https:'].includes(new URL(url).protocol))) return url;
  const expected = 'expected the address of a proxy, such as http://proxy.example.com:3128';
  throw new SafetySyncError(
    'configuration_invalid',
    `HTTPS_PROXY: ${expected}, got something else (not shown)`,
  );
}

/** undici connects again and again, without a pause, where a proxy breaks off before it has connected. */
function createProxyPool(proxy: URL, options: object): Dispatcher {
  const pool = new Pool(proxy, options);
  const connect = pool.connect.bind(pool) as (request: object) => Promise<unknown>;
  const connectOnce = async (request: object): Promise<unknown> =>
    await connect(request).catch((cause: unknown) => {
      throw Object.assign(new Error('the proxy broke off', { cause }), { code: 'PROXY_FAILED' });
    });
  return Object.assign(pool, { connect: connectOnce });
}

interface AgentOptions {
  /** Most connections; a request has one to itself. */
  readonly connections: number;
  readonly connectTimeoutMs: number;
}

/** Redirects are not followed, and there is no limit of time but the signal's. */
export function createHttpAgent(origin: string, { connections, connectTimeoutMs }: AgentOptions) {
  // TLS 1.2: specification, "Common protocol".
  const tls = { timeout: connectTimeoutMs, minVersion: 'TLSv1.2' } as const;
  const agent = new EnvHttpProxyAgent({
    connections,
    pipelining: 1,
    keepAliveTimeout: KEEP_ALIVE_MS,
    keepAliveMaxTimeout: MINUTE_MS,
    headersTimeout: 0,
    bodyTimeout: 0,
    connect: tls,
    requestTls: tls,
    proxyTls: tls,
    clientFactory: createProxyPool,
    // As curl: a proxy for https only.
    httpProxy: '',
    httpsProxy: isLoopback(new URL(origin).hostname) ? '' : readProxy(),
  });
  return {
    request: (options: Omit<Dispatcher.RequestOptions, 'origin'>): Promise<Dispatcher.ResponseData> =>
      agent.request({ ...options, origin }),
    close: (): Promise<void> => agent.destroy(),
  };
}
