import type { IncomingMessage, ServerResponse } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';

import type { Fault, FaultPlan } from '../faults/fault-plan.ts';
import { respondAsGateway, transmit } from '../faults/transmit.ts';
import type { Random } from '../random.ts';
import { keep, type RequestLogEntry } from '../request-log.ts';
import type { SandboxStore } from '../store/sandbox-store.ts';
import type { Access } from './access.ts';
import { equipmentsList } from './methods/equipments-list.ts';
import { followupsList } from './methods/followups-list.ts';
import { listMethods, resourcesList, usersInfo } from './methods/lists.ts';
import { trainingEmployeeStatusList } from './methods/training-employee-status-list.ts';
import { checkParameters, type Method } from './method.ts';
import { readRequestObject } from './read-request.ts';
import type { Readings } from './readings.ts';
import { ServiceError } from './service-error.ts';
import { writeJson } from './write-json.ts';

/** Hooks for tests. Set them in the options, or on `sandbox.hooks` while it runs. */
export interface Hooks {
  /** Called after parsing the request and before reading data: a test can change the store between two pages. */
  beforeResponse?: ((entry: RequestLogEntry, store: SandboxStore) => void | Promise<void>) | undefined;
  /** Changes the complete response object, also of errors: a test can send wrong data. */
  rewriteResponse?:
    ((entry: RequestLogEntry, response: Record<string, unknown>) => Record<string, unknown>) | undefined;
}

export interface ServiceContext {
  readonly store: SandboxStore;
  readonly readings: Readings;
  readonly hooks: Hooks;
  readonly methods: Readonly<Record<string, Method>>;
  readonly access: Access;
  readonly faults: FaultPlan;
  /** Recent requests, oldest first. May be emptied by `length = 0`. */
  readonly requests: RequestLogEntry[];
  readonly clock: () => number;
  readonly latencyMs: number;
  readonly requestIds: Random;
  readonly onRequest: ((entry: RequestLogEntry) => void) | undefined;
}

/** By the name in their path. */
const methods: Readonly<Record<string, Method>> = {
  'resources.list': resourcesList,
  'followups.list': followupsList,
  'training-employee-status.list': trainingEmployeeStatusList,
  'equipments.list': equipmentsList,
  'users.info': usersInfo,
  ...listMethods,
};

const PATH = /^\/v1\/([^/?]+)$/;

/** Handles one request from its first byte to the last byte of its response. */
export async function handleRequest(
  request: IncomingMessage,
  response: ServerResponse,
  context: ServiceContext,
): Promise<void> {
  const startedAt = performance.now();
  const path = (request.url ?? '').split('?')[0] ?? '';
  const entry: RequestLogEntry = {
    at: context.clock(),
    httpMethod: request.method ?? '',
    method: PATH.exec(path)?.[1] ?? path,
    params: {},
    outcome: 'pending',
    requestId: null,
    fault: null,
    records: 0,
  };
  keep(entry, context.requests);
  try {
    const asked = await readRequestObject(request).catch((error: unknown) => {
      if (error instanceof ServiceError) return error;
      // The connection failed.
      throw error;
    });
    if (!(asked instanceof ServiceError))
      entry.params = Object.fromEntries(Object.entries(asked).filter(([name]) => name !== 'token'));
    const fault = context.faults.choose(entry);
    entry.fault = fault?.kind ?? null;
    if (context.latencyMs > 0) await delay(context.latencyMs);
    if (fault?.kind === 'reset') request.socket.destroy();
    else if (fault?.kind === 'hang') await new Promise((resolve) => response.once('close', resolve));
    else if (fault?.kind === 'nonJson') respondAsGateway(response, fault);
    else {
      const body = await toBody(context, entry, asked, fault);
      entry.requestId = context.requestIds.alphanumeric(20);
      response.sendDate = false;
      if (context.readings.dateHeader === 'present') {
        response.setHeader('Date', new Date(context.clock()).toUTCString());
      }
      response.setHeader('Content-Type', 'application/json; charset=utf-8');
      response.setHeader('SVC-Request-ID', entry.requestId);
      response.setHeader('SVC-Response-Time', String(Math.round(performance.now() - startedAt)));
      await transmit(response, body, fault);
    }
  } finally {
    if (entry.outcome === 'pending') entry.outcome = 'no-response';
    context.onRequest?.(entry);
  }
}

type Asked = Record<string, unknown> | ServiceError;

async function toBody(
  context: ServiceContext,
  entry: RequestLogEntry,
  asked: Asked,
  fault: Fault | null,
): Promise<string> {
  let object: Record<string, unknown>;
  try {
    object = await respond(context, entry, asked, fault);
    entry.outcome = 'ok';
  } catch (error) {
    const refusal = error instanceof ServiceError ? error : new ServiceError('server_error', String(error));
    entry.outcome = refusal.id;
    object = { ok: false, error: refusal.id, description: refusal.description };
  }
  const rewritten = context.hooks.rewriteResponse?.(entry, object) ?? object;
  return writeJson(rewritten, context.readings, entry.params['pretty'] === true);
}

/** Order of the checks: address, HTTP method, request object, token, request limit, parameters. */
async function respond(
  { readings, store, access, faults, hooks, clock, ...context }: ServiceContext,
  entry: RequestLogEntry,
  asked: Asked,
  fault: Fault | null,
): Promise<Record<string, unknown>> {
  const method = methods[entry.method] ?? context.methods[entry.method];
  if (method === undefined || readings.notOffered.includes(entry.method))
    throw new ServiceError('api_method_not_found');
  if (asked instanceof ServiceError) throw asked;
  access.check(asked['token']);
  if (fault?.kind === 'rateLimit' || faults.isLimited(clock())) throw new ServiceError('rate_limit_exceeded');
  checkParameters(entry.params, method.rules(readings));
  if (fault?.kind === 'serverError') throw new ServiceError('server_error');
  if (fault?.kind === 'error') throw new ServiceError(fault.error, fault.description);
  await hooks.beforeResponse?.(entry, store);
  const { fields, list } = method.respond(entry.params, { store, readings });
  entry.records = list?.records.length ?? 0;
  return { ok: true, ...fields, ...(list && { [list.name]: list.records }) };
}
