import type { IncomingMessage, ServerResponse } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';

import type { FaultPlan } from '../faults/fault-plan.ts';
import type { Fault } from '../faults/fault.ts';
import { respondAsGateway, transmit } from '../faults/transmit.ts';
import type { Random } from '../random.ts';
import type { Hooks } from '../options.ts';
import type { RequestLog, RequestLogEntry } from '../request-log.ts';
import type { SandboxStore } from '../store/sandbox-store.ts';
import type { Access } from './access.ts';
import { equipmentsList } from './methods/equipments-list.ts';
import { followupsList } from './methods/followups-list.ts';
import { resourcesList } from './methods/resources-list.ts';
import { trainingEmployeeStatusList } from './methods/training-employee-status-list.ts';
import { listMethods } from './methods/lists.ts';
import { usersInfo } from './methods/users.ts';
import { checkParameters, type Method, type MethodResponse } from './method.ts';
import { readRequestObject } from './read-request.ts';
import { writeJson } from '../raw-number.ts';
import type { Readings } from './readings.ts';
import { ServiceError } from './service-error.ts';
import { toResponseObject, toResponseText } from './write-response.ts';

export interface ServiceContext {
  readonly store: SandboxStore;
  readonly readings: Readings;
  readonly hooks: Hooks;
  methods: Readonly<Record<string, Method>>;
  readonly access: Access;
  readonly faults: FaultPlan;
  log: RequestLog;
  clock: () => number;
  latencyMs: number;
  requestIds: Random;
  onRequest: ((entry: RequestLogEntry) => void) | undefined;
}

/** By the name in their path. */
const methods: ReadonlyMap<string, Method> = new Map([
  ['resources.list', resourcesList],
  ['followups.list', followupsList],
  ['training-employee-status.list', trainingEmployeeStatusList],
  ['equipments.list', equipmentsList],
  ['users.info', usersInfo],
  ...Object.entries(listMethods),
]);

const PATH = /^\/v1\/([^/?]+)$/;

/** Handles one request from its first byte to the last byte of its response. */
export async function handleRequest(
  request: IncomingMessage,
  response: ServerResponse,
  context: ServiceContext,
): Promise<void> {
  const startedAt = performance.now();
  const path = (request.url ?? '').split('?')[0] ?? '';
  const entry = context.log.open({
    at: context.clock(),
    httpMethod: request.method ?? '',
    method: PATH.exec(path)?.[1] ?? path,
  });
  try {
    await serve({ request, response, context, entry, startedAt });
  } finally {
    entry.durationMs = performance.now() - startedAt;
    if (entry.outcome === 'pending') entry.outcome = 'no-response';
    context.onRequest?.(entry);
  }
}

interface Serving {
  request: IncomingMessage;
  response: ServerResponse;
  context: ServiceContext;
  entry: RequestLogEntry;
  startedAt: number;
}

async function serve(serving: Serving): Promise<void> {
  const { request, response, context, entry, startedAt } = serving;
  let parameters: Record<string, unknown> | ServiceError;
  try {
    parameters = await readRequestObject(request);
    const { token, ...params } = parameters;
    entry.token = token === undefined ? 'absent' : 'present';
    entry.params = params;
  } catch (error) {
    if (!(error instanceof ServiceError)) return;
    parameters = error;
  }
  const fault = context.faults.choose(entry);
  entry.fault = fault?.kind ?? null;
  if (context.latencyMs > 0) await delay(context.latencyMs);

  if (fault?.kind === 'reset') {
    request.socket.destroy();
    return;
  }
  if (fault?.kind === 'hang') {
    await new Promise((resolve) => response.once('close', resolve));
    return;
  }
  if (fault?.kind === 'nonJson') {
    respondAsGateway(response, fault);
    return;
  }
  const body = await toBody(serving, parameters, fault);
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

async function toBody(
  serving: Serving,
  parameters: Record<string, unknown> | ServiceError,
  fault: Fault | null,
): Promise<string> {
  const { context, entry } = serving;
  const isPretty = !(parameters instanceof ServiceError) && parameters['pretty'] === true;
  let object: Record<string, unknown>;
  try {
    const found = await responseOf(serving, parameters, fault);
    entry.outcome = 'ok';
    entry.records = found.list?.records.length ?? 0;
    if (!isPretty && context.hooks.rewriteResponse === undefined) {
      return toResponseText(found, context.readings);
    }
    object = toResponseObject(found, context.readings);
  } catch (error) {
    const refusal = error instanceof ServiceError ? error : new ServiceError('server_error', String(error));
    entry.outcome = refusal.id;
    object = { ok: false, error: refusal.id, description: refusal.description };
  }
  const rewritten = context.hooks.rewriteResponse?.(entry, object) ?? object;
  return writeJson(rewritten, isPretty ? 2 : undefined);
}

/** Order of the checks: address, HTTP method, request object, token, request limit, parameters. */
async function responseOf(
  serving: Serving,
  parameters: Record<string, unknown> | ServiceError,
  fault: Fault | null,
): Promise<MethodResponse> {
  const { context, entry } = serving;
  const { readings, store } = context;
  const method = methods.get(entry.method) ?? context.methods[entry.method];
  if (method === undefined || readings.notOffered.includes(entry.method))
    throw new ServiceError('api_method_not_found');
  if (parameters instanceof ServiceError) throw parameters;
  const { token, ...asked } = parameters;
  context.access.check(token, entry.method);
  if (fault?.kind === 'rateLimit' || context.faults.isLimited(context.clock())) {
    throw new ServiceError('rate_limit_exceeded');
  }
  checkParameters(asked, method, readings);
  if (fault?.kind === 'serverError') throw new ServiceError('server_error');
  if (fault?.kind === 'error') throw new ServiceError(fault.error, fault.description);
  await context.hooks.beforeResponse?.(entry, store);
  return method.respond(asked, { store, readings });
}
