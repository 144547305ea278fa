import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';

import { FaultPlan } from './faults/fault-plan.ts';
import { buildWorld, defaultSize, STREAM } from './generate/world.ts';
import { createLiveSource, type LiveSource } from './live/live-source.ts';
import type { SandboxOptions } from './options.ts';
import { Random } from './random.ts';
import { createRequestLog, type RequestLogEntry } from './request-log.ts';
import { Access } from './service/access.ts';
import { defaultReadings } from './service/readings.ts';
import { handleRequest, type ServiceContext } from './service/request-handler.ts';
import { createStore } from './store/sandbox-store.ts';

/** `readings` and `hooks` can be changed while the sandbox runs. */
export interface Sandbox extends Pick<ServiceContext, 'store' | 'faults' | 'access' | 'readings' | 'hooks'> {
  /** The base URL, without `/v1`. */
  readonly url: string;
  readonly token: string;
  readonly equipmentTypes: string[];
  readonly live: LiveSource;
  /** Recent requests, oldest first. May be emptied by `length = 0`. */
  readonly requests: RequestLogEntry[];
  close(): Promise<void>;
}

/** Large enough for long request objects in the query of a GET. */
const MAX_HEADER_BYTES = 1024 * 1024;

export async function createSandbox({
  seed = 20_240_229,
  token = 'sandbox-token',
  host = '127.0.0.1',
  port: askedPort = 0,
  clock = Date.now,
  ...options
}: SandboxOptions = {}): Promise<Sandbox> {
  const { size, oddities = true } = options;
  const world = buildWorld({ seed, now: clock(), size: { ...defaultSize, ...size }, oddities });
  const context: ServiceContext = {
    store: createStore(world, clock),
    readings: { ...defaultReadings, ...options.readings },
    hooks: { ...options.hooks },
    methods: options.methods ?? {},
    access: new Access(token),
    faults: new FaultPlan(options.faults ?? {}, Random.of(seed, STREAM.faults)),
    log: createRequestLog(),
    clock,
    latencyMs: options.latencyMs ?? 0,
    requestIds: Random.of(seed, STREAM.requestIds),
    onRequest: options.onRequest,
  };
  const server = buildServer(options.tls, (request, response) => {
    handleRequest(request, response, context).catch((error: unknown) => {
      response.destroy(error instanceof Error ? error : new Error(String(error)));
    });
  });
  server.listen(askedPort, host);
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const live = createLiveSource({ world, store: context.store, clock, ...options.live });

  return {
    ...context,
    url: `${options.tls === undefined ? 'http' : 'https'}://${host.includes(':') ? `[${host}]` : host}:${port}`,
    token,
    equipmentTypes: [...context.store.lists.equipmenttypes.keys()],
    live,
    requests: context.log.entries,
    close: async () => {
      live.stop();
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      server.closeAllConnections();
      await closed;
    },
  };
}

function buildServer(tls: SandboxOptions['tls'], listener: RequestListener): Server {
  // Longer than a client's idle timeout, because a request is lost if the server closes the connection first.
  const http = { maxHeaderSize: MAX_HEADER_BYTES, keepAliveTimeout: 120_000 };
  return tls === undefined
    ? createServer(http, listener)
    : createTlsServer({ minVersion: 'TLSv1.2', ...tls, ...http }, listener);
}
