/** Asks for the name of one user (specification: users.info, known only as the protocol's example). */
import { type ErrorCode, SafetySyncError } from '../shared/errors.ts';
import { ExactNumber } from '../shared/exact-number.ts';
import { Received } from '../shared/received.ts';
import { isWireRecord } from '../streams/wire.ts';
import type { ReadRequest } from './read-request.ts';

/** What came of a lookup that the service did not fail. */
export type UserLookup =
  | { readonly kind: 'found'; readonly userId: string; readonly record: Received }
  | { readonly kind: 'unusable'; readonly userId: string; readonly record: Received }
  | { readonly kind: 'unknown'; readonly userId: string };

/** What the service may do with one id, or one record, while it is well; what else fails has nothing to do with it. */
export const OF_ONE_ID: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  'server_error',
  'service_error_unknown',
  'request_timeout',
  'response_not_json',
  'response_cut',
  'response_invalid',
]);
/** An id for which the service fails again and again costs few requests: it is asked for in a later run anyway. */
const FEW_RETRIES = { codes: new Set<ErrorCode>(['server_error']), retries: 2 };

type UserParameter = number | string | ExactNumber;

/**
 * The forms in which a user is asked for, one after the other while the service refuses the form. The example shows a
 * number; an id that is not one can only be text. Beyond 2^53 text comes first: a service may round a number.
 */
export function toUserParameters(userId: string): readonly UserParameter[] {
  if (!/^(0|-?[1-9]\d*)$/.test(userId)) return [userId];
  const number = Number(userId);
  return Number.isSafeInteger(number) ? [number, userId] : [userId, new ExactNumber(userId)];
}

/** A question failed in a way that may be due to the one id or record alone that it is about. */
export function isOfOneId(error: unknown): error is SafetySyncError {
  return error instanceof SafetySyncError && OF_ONE_ID.has(error.code);
}

function isUnknownUser(error: unknown): error is SafetySyncError {
  return (
    error instanceof SafetySyncError &&
    (error.code === 'content_not_found' || error.code === 'parameter_invalid')
  );
}

function toText(value: unknown): string | undefined {
  return typeof value === 'string' || typeof value === 'number' || value instanceof ExactNumber
    ? String(value)
    : undefined;
}

export async function askForUser(
  { stream, service }: Pick<ReadRequest, 'stream' | 'service'>,
  userId: string,
): Promise<UserLookup> {
  const { api, meter, signal } = service;
  const ask = async (user: UserParameter) =>
    await api.fetchObject({
      method: stream.method,
      objectKey: stream.responseKey,
      params: { user },
      fewRetries: FEW_RETRIES,
      meter,
      signal,
    });
  let object: unknown;
  let hasObject = false;
  for (const parameter of toUserParameters(userId)) {
    try {
      ({ object } = await ask(parameter));
      hasObject = true;
      break;
    } catch (error) {
      if (!isUnknownUser(error)) throw error;
      if (error.code !== 'parameter_invalid') break;
    }
  }
  if (!hasObject) return { kind: 'unknown', userId };
  const key = isWireRecord(object) ? (object[stream.keyField] ?? userId) : undefined;
  if (!isWireRecord(object) || toText(key) !== userId) {
    // Kept as a data issue: it has no key that a user could be stored under.
    return { kind: 'unusable', userId, record: Received.of({ asked_for: userId, answered: object ?? null }) };
  }
  return { kind: 'found', userId, record: Received.of({ ...object, [stream.keyField]: key }) };
}
