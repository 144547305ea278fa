import type { FaultOptions } from './faults/fault.ts';
import type { SandboxSize } from './generate/sandbox-size.ts';
import type { LiveOptions } from './live/live-source.ts';
import type { RequestLogEntry } from './request-log.ts';
import type { Method } from './service/method.ts';
import type { Hooks } from './service/hooks.ts';
import type { Readings } from './service/readings.ts';

export interface SandboxOptions {
  /** Same seed, size and clock: same data, same faults, same life. Default 20240229. */
  seed?: number;
  size?: Partial<SandboxSize>;
  /** Default `sandbox-token`. */
  token?: string;
  /** Default 127.0.0.1. */
  host?: string;
  /** Default 0: any free one. */
  port?: number;
  /** The service's "now" in ms since 1970. Statuses, the training cache, the limiter and the Date header go by it. Default Date.now. */
  clock?: () => number;
  /** Real ms added to every response. Default 0. */
  latencyMs?: number;
  /** Odd but allowed values and absent optional fields. Default true. */
  oddities?: boolean;
  /** ms a training calculation is kept. Default 15 minutes. */
  cacheMs?: number;
  /** How fast the source changes after `live.start()`. */
  live?: LiveOptions;
  faults?: FaultOptions;
  readings?: Partial<Readings>;
  hooks?: Hooks;
  /** Methods that the service has besides those of the specification, by the name in their path. */
  methods?: Readonly<Record<string, Method>>;
  /** Requests kept in `sandbox.requests`. Default 10 000. */
  requestLogSize?: number;
  /** Called once per request, when its response is out or will never be. */
  onRequest?: (entry: RequestLogEntry) => void;
  /** Serve HTTPS with this certificate; TLS 1.2 at least, unless said otherwise here. */
  tls?: TlsOptions;
}

export interface TlsOptions {
  key: string;
  cert: string;
  minVersion?: 'TLSv1' | 'TLSv1.1' | 'TLSv1.2' | 'TLSv1.3';
  maxVersion?: 'TLSv1' | 'TLSv1.1' | 'TLSv1.2' | 'TLSv1.3';
  ciphers?: string;
}

export const DEFAULT_SEED = 20_240_229;
export const DEFAULT_TOKEN = 'sandbox-token';
export const DEFAULT_CACHE_MS = 15 * 60_000;
export const DEFAULT_REQUEST_LOG_SIZE = 10_000;
