/** A method: rules for its parameters, and a response. */
import * as z from 'zod';
import type { SandboxStore } from '../store/sandbox-store.ts';
import type { Readings } from './readings.ts';
import { ServiceError } from './service-error.ts';

type Rules = z.ZodRawShape;

/** A successful response before serialization. Its list holds records of the store. */
interface MethodResponse {
  fields?: Record<string, unknown>;
  list?: { name: string; records: readonly object[] };
}

interface MethodContext {
  store: SandboxStore;
  readings: Readings;
}

export interface Method<R extends Rules = Rules> {
  rules(readings: Readings): R;
  respond(parameters: z.output<z.ZodObject<R>>, context: MethodContext): MethodResponse;
}

/** A method, typed by its parameter rules. */
export const method = <R extends Rules>(
  rules: R | ((readings: Readings) => R),
  respond: Method<R>['respond'],
): Method => ({ rules: typeof rules === 'function' ? rules : () => rules, respond });

export const wholeNumber = (max = Number.MAX_SAFE_INTEGER) => z.int().min(1).max(max).optional();
const aPage = { page: wholeNumber() };

/**
 * Names unsupported parameters first, then missing ones, then invalid values. An explicit null is always an invalid value.
 */
export function checkParameters(parameters: Readonly<Record<string, unknown>>, rules: Rules): void {
  const { error } = z.strictObject({ ...rules, pretty: z.boolean().optional() }).safeParse(parameters);
  if (error === undefined) return;
  const unexpected = error.issues.find(({ code }) => code === 'unrecognized_keys');
  if (unexpected !== undefined) throw new ServiceError('parameter_unexpected', unexpected.message);
  const missing = error.issues.find(({ path: [name = ''] }) => !(name in parameters));
  if (missing !== undefined)
    throw new ServiceError('parameter_missing', `required: ${missing.path.join('.')}`);
  const [{ path, message } = { path: [], message: '' }] = error.issues;
  throw new ServiceError('parameter_invalid', `${path.join('.')}: ${message}`);
}

/** "Valid pages run to paging.last_page"; the first page is always valid, even without results. */
export function toPage<T>(
  found: readonly T[],
  { limit, page = 1 }: { limit: number; page?: number | undefined },
  { pastLastPage, largestPage }: Readings,
): { paging: { total: number; last_page: number }; records: readonly T[] } {
  const size = Math.min(limit, largestPage ?? limit);
  const last = Math.ceil(found.length / size);
  if (page > Math.max(1, last) && pastLastPage === 'refused') {
    throw new ServiceError('parameter_invalid', `page: the last page is ${last}`);
  }
  return {
    paging: { total: found.length, last_page: last },
    records: found.slice((page - 1) * size, page * size),
  };
}

/** For lists that the specification shows without paging. */
export const unaskedPage = {
  rules: ({ unaskedPageSize }: Readings) => (unaskedPageSize === null ? {} : aPage) as typeof aPage,
  of<T>(found: readonly T[], { page }: { page?: number | undefined }, readings: Readings) {
    if (readings.unaskedPageSize === null) return { records: found, fields: {} };
    const { records, paging } = toPage(found, { limit: readings.unaskedPageSize, page }, readings);
    return { records, fields: { paging } };
  },
};
