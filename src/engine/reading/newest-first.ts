/** A newest-first list that the service may lack, without filters by time (observed: completedtrainings.v2.list). */
import { SafetySyncError } from '../../shared/errors.ts';
import { DAY_MS } from '../../shared/time.ts';
import { isLeftAlone, isNotOffered } from '../streams/optional-methods.ts';
import { readSettledList } from './list.ts';
import type { ReadRequest } from './read-request.ts';
import { describeUnknown } from './snapshot.ts';
import { records, type RecordsStep, type ReadOutcome, type Steps } from './step.ts';

/** A sync reads everything again after this time: the newest records show neither a deletion nor one that was entered late. */
const COMPLETE_READ_MS = 7 * DAY_MS;

/** Reads until a page whose records all have rows; everything where it is due, or is one response. */
export async function* readNewestFirst(
  { stream, service, warehouse, state, kind, force = false }: ReadRequest,
  { pageSize }: { readonly pageSize: number },
): Steps<ReadOutcome> {
  const { method, responseKey: listKey, keyField } = stream;
  const notOffered = { kind: 'skipped', reason: `the service does not offer ${method}` } as const;
  const isOrdinary = kind === 'sync' && !force;
  if (isOrdinary && isLeftAlone((await warehouse.readOptionalMethods()).get(method)))
    return { ...notOffered, isIdle: true };
  const mayStop = isOrdinary && (state.completeRead.agoMs ?? Infinity) < COMPLETE_READ_MS;
  const resultOf = (code: string | null): RecordsStep => ({
    ...records([]),
    writes: [{ kind: 'methods', results: [{ method, code }] }],
  });
  const asked = { method, listKey, keyField, createdField: 'created', params: {}, pageSize };
  const list = readSettledList(service, asked);
  try {
    let next = await list.next();
    for (; next.done !== true; next = await list.next()) {
      const { records: page, paging } = next.value;
      const isPart = page.length < (paging?.total ?? Infinity);
      const isEnd = mayStop && isPart && (await warehouse.areStored(page));
      // Without writes of its own a step would keep all pages in one transaction.
      yield { ...records(page), writes: [] };
      if (!isEnd) continue;
      yield resultOf(null);
      return { kind: 'read', covered: null, failure: null };
    }
    yield resultOf(null);
    yield { ...records([]), writes: [{ kind: 'complete_read' }] };
    const { unknownMembers } = next.value;
    return {
      kind: 'read',
      covered: unknownMembers.length === 0 ? { partitions: null } : null,
      note: describeUnknown(unknownMembers),
      failure: null,
    };
  } catch (error) {
    if (!(error instanceof SafetySyncError)) throw error;
    if (isNotOffered(error.code)) {
      yield resultOf(error.code);
      return notOffered;
    }
    // What was read is right, and stays.
    if (error.code === 'read_incomplete') return { kind: 'read', covered: null, failure: error };
    throw error;
  }
}
