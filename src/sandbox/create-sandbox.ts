import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

import { type FaultOptions, FaultPlan } from './faults/fault-plan.ts';
import { buildWorld, defaultSize, type SandboxSize, STREAM } from './generate/world.ts';
import { createLiveSource, type LiveOptions } from './live/live-source.ts';
import { Random } from './random.ts';
import type { RequestLogEntry } from './request-log.ts';
import { Access } from './service/access.ts';
import type { Method } from './service/method.ts';
import { defaultReadings, type Readings } from './service/readings.ts';
import { handleRequest, type Hooks, type ServiceContext } from './service/request-handler.ts';
import { createStore } from './store/sandbox-store.ts';

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
}

/** Large enough for long request objects in the query of a GET. */
const MAX_HEADER_BYTES = 1024 * 1024;

export type Sandbox = Awaited<ReturnType<typeof createSandbox>>;

/** `readings` and `hooks` can be changed while it runs. */
export async function createSandbox({
  seed = 20_240_229,
  token = 'sandbox-token',
  host = '127.0.0.1',
  port: askedPort = 0,
  clock = Date.now,
  oddities = true,
  ...options
}: SandboxOptions = {}) {
  const world = buildWorld({ seed, now: clock(), size: { ...defaultSize, ...options.size }, oddities });
  const context: ServiceContext = {
    store: createStore(world, clock),
    readings: { ...defaultReadings, ...options.readings },
    hooks: { ...options.hooks },
    methods: options.methods ?? {},
    access: new Access(token),
    faults: new FaultPlan(options.faults ?? {}, Random.of(seed, STREAM.faults)),
    requests: [],
    clock,
    latencyMs: options.latencyMs ?? 0,
    requestIds: Random.of(seed, STREAM.requestIds),
    onRequest: options.onRequest,
  };
  // Longer than a client's idle timeout, because a request is lost if the server closes the connection first.
  const http = { maxHeaderSize: MAX_HEADER_BYTES, keepAliveTimeout: 120_000 };
  const server = createServer(http, (request, response) => {
    handleRequest(request, response, context).catch((error: unknown) => {
      response.destroy(error instanceof Error ? error : new Error(String(error)));
    });
  });
  server.listen(askedPort, host);
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const live = createLiveSource({ world, store: context.store, clock, ...options.live });
  const { store, readings, hooks, access, faults, requests } = context;

  return {
    ...{ store, readings, hooks, access, faults, requests, live, token },
    /** The base URL, without `/v1`. */
    url: `http://${host.includes(':') ? `[${host}]` : host}:${port}`,
    equipmentTypes: [...store.lists.equipmenttypes.keys()],
    close: async (): Promise<void> => {
      live.stop();
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      server.closeAllConnections();
      await closed;
    },
  };
}
