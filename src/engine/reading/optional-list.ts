/** Requests a list that the service may lack. */
import type { Received } from '../../shared/received.ts';
import { SafetySyncError } from '../../shared/errors.ts';
import {
  isNotOffered,
  type MethodResult,
  listOf,
  type OptionalListName,
} from '../streams/optional-methods.ts';
import { type Params, readSettledList } from './list.ts';
import type { Service } from './read-request.ts';
import { recordName } from './record-fields.ts';

/** The end of a request; its `result` is remembered in the transaction that stores the records. */
export interface OptionalRead {
  readonly result: MethodResult;
  /** null: the service does not offer the list, or it failed. */
  readonly records: readonly Received[] | null;
  /** Why nothing may count as deleted although the list is complete; null: it may. */
  readonly doubt: string | null;
  /** null: no failure. That the list is not offered is none. */
  readonly failure: SafetySyncError | null;
}

export async function readOptionalList(
  service: Service,
  method: OptionalListName,
  params: Params = {},
): Promise<OptionalRead> {
  const all = new Map<string, Received>();
  try {
    const { listKey, pageSize } = listOf(method);
    const pages = readSettledList(service, { method, listKey, pageSize, params, keyField: 'id' });
    let next = await pages.next();
    for (; next.done !== true; next = await pages.next())
      for (const one of next.value.records) all.set(recordName(one, 'id'), one);
    const { doubt } = next.value;
    return { result: { method, code: null }, records: [...all.values()], doubt, failure: null };
  } catch (error) {
    if (!(error instanceof SafetySyncError)) throw error;
    const { code, recovery } = error;
    const isMissing = isNotOffered(code);
    // Every further request would fail, too, so the run ends.
    if (!isMissing && (recovery === 'fail_run' || code === 'interrupted')) throw error;
    return { result: { method, code }, records: null, doubt: null, failure: isMissing ? null : error };
  }
}
