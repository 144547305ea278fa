import type { TlsOptions } from 'node:tls';
import type { FaultOptions } from './faults/fault.ts';
import type { SandboxSize } from './generate/world.ts';
import type { LiveOptions } from './live/live-source.ts';
import type { RequestLogEntry } from './request-log.ts';
import type { Method } from './service/method.ts';
import type { Readings } from './service/readings.ts';
import type { SandboxStore } from './store/sandbox-store.ts';

export interface SandboxOptions {
  /** Equal seed, size and clock give equal data, faults and changes. Default 20240229. */
  seed?: number | undefined;
  size?: Partial<SandboxSize>;
  /** Default `sandbox-token`. */
  token?: string | undefined;
  /** Default 127.0.0.1. */
  host?: string;
  /** Default 0: any free port. */
  port?: number;
  /** Current time of the service in ms since 1970, for statuses, training cache, limiter and Date header. Default Date.now. */
  clock?: () => number;
  /** Real ms added to every response. Default 0. */
  latencyMs?: number;
  /** Adds odd but allowed values, and omits optional fields. Default true. */
  oddities?: boolean;
  /** Rate of changes after `live.start()`. */
  live?: LiveOptions;
  faults?: FaultOptions;
  readings?: Partial<Readings>;
  hooks?: Hooks;
  /** Additional methods by the name in their path. */
  methods?: Readonly<Record<string, Method>>;
  /** Called once per request, when its response was sent or has failed. */
  onRequest?: (entry: RequestLogEntry) => void;
  /** Serves HTTPS with this certificate, TLS 1.2 at least. */
  tls?: Pick<TlsOptions, 'key' | 'cert'>;
}

/** Hooks for tests. Set them in the options, or on `sandbox.hooks` while it runs. */
export interface Hooks {
  /** Called after parsing the request and before reading data: a test can change the store between two pages. */
  beforeResponse?: ((entry: RequestLogEntry, store: SandboxStore) => void | Promise<void>) | undefined;
  /** Changes the complete response object, also of errors: a test can send wrong data. */
  rewriteResponse?:
    ((entry: RequestLogEntry, response: Record<string, unknown>) => Record<string, unknown>) | undefined;
}
