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
export interface ListRead {
  readonly result: MethodResult;
  /** null: the service does not offer the list, or it failed. */
  readonly records: readonly Received[] | null;
  /** null: no failure. That the list is not offered is none. */
  readonly failure: SafetySyncError | null;
}

/** Every further request would fail, too, so the run ends. */
const concernsAll = ({ recovery, code }: SafetySyncError): boolean =>
  recovery === 'fail_run' || code === 'interrupted';

async function readAll(
  service: Service,
  method: OptionalListName,
  params: Params,
): Promise<readonly Received[]> {
  const { listKey, pageSize } = listOf(method);
  const paged = pageSize === undefined ? {} : { pageSize };
  const list = readSettledList(service, {
    method,
    listKey,
    params,
    keyField: 'id',
    createdField: 'created',
    ...paged,
  });
  const all = new Map<string, Received>();
  for await (const { records } of list) for (const one of records) all.set(recordName(one, 'id'), one);
  return [...all.values()];
}

export async function readOptionalList(
  service: Service,
  method: OptionalListName,
  params: Params = {},
): Promise<ListRead> {
  try {
    return { result: { method, code: null }, records: await readAll(service, method, params), failure: null };
  } catch (error) {
    if (!(error instanceof SafetySyncError)) throw error;
    const isMissing = isNotOffered(error.code);
    if (!isMissing && concernsAll(error)) throw error;
    return { result: { method, code: error.code }, records: null, failure: isMissing ? null : error };
  }
}
