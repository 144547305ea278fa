/** Requests the name of one user (specification: users.info, known only as the protocol's example). */
import { Received } from '../../shared/received.ts';
import { SafetySyncError } from '../../shared/errors.ts';
import { ExactNumber } from '../../shared/exact-number.ts';
import { isWireRecord, recordKey } from '../streams/wire.ts';
import type { PageSource } from './pages.ts';

/** `unusable`: the service responded with something that is not this user. */
export type UserLookup =
  | { readonly kind: 'found' | 'unusable'; readonly userId: string; readonly record: Received }
  | { readonly kind: 'unknown'; readonly userId: string };

/** An id for which the service fails in each run gets few requests, because a later run tries again. */
const MOST_RETRIES_IN_A_ROW = 4;

/**
 * The forms of an id as a parameter, one after the other while the service refuses the form. The example shows a number; an
 * id that is not one can only be text. Beyond 2^53 text comes first: a service may round a number.
 */
export function toUserParameters(userId: string): readonly (number | string | ExactNumber)[] {
  if (!/^(0|-?[1-9]\d*)$/.test(userId)) return [userId];
  const number = Number(userId);
  return Number.isSafeInteger(number) ? [number, userId] : [userId, new ExactNumber(userId)];
}

export async function askForUser({ stream, service }: PageSource, userId: string): Promise<UserLookup> {
  const { method, responseKey: objectKey, keyField } = stream;
  const { api, meter, signal } = service;
  for (const user of toUserParameters(userId)) {
    try {
      const request = {
        method,
        objectKey,
        params: { user },
        mostRetriesInARow: MOST_RETRIES_IN_A_ROW,
        meter,
        signal,
      };
      const object = await api.fetchObject(request);
      const record = Received.of(
        isWireRecord(object) ? { ...object, [keyField]: object[keyField] ?? userId } : null,
      );
      if (recordKey(record, keyField) === userId) return { kind: 'found', userId, record };
      // Becomes a data issue, because a user could not be stored without this key.
      const unusable = Received.of({ asked_for: userId, answered: object ?? null });
      return { kind: 'unusable', userId, record: unusable };
    } catch (error) {
      const code = error instanceof SafetySyncError ? error.code : undefined;
      if (code === 'content_not_found') break;
      if (code !== 'parameter_invalid') throw error;
    }
  }
  return { kind: 'unknown', userId };
}
