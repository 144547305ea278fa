/** A newest-first list that the service may lack, without filters by time (observed: completedtrainings.v2.list). */
import { SafetySyncError } from '../../shared/errors.ts';
import { DAY_MS } from '../../shared/time.ts';
import { isLeftAlone, isNotOffered } from '../streams/optional-methods.ts';
import { askedOf, readSettledList } from './list.ts';
import { isPlainSync, type ReadRequest } from './read-request.ts';
import { records, type ReadOutcome, type Steps, writes } from './step.ts';

/** A sync reads everything again after this time: the newest records show neither a deletion nor one that was entered late. */
const COMPLETE_READ_MS = 7 * DAY_MS;

/** Reads up to a page of records that all have rows; everything where it is due, or is one response. */
export async function* readNewestFirst(read: ReadRequest): Steps<ReadOutcome> {
  const { stream, service, warehouse, state, filters } = read;
  const { method } = stream;
  const notOffered = { kind: 'skipped', reason: `the service does not offer ${method}` } as const;
  const isPlain = isPlainSync(read);
  if (isPlain && isLeftAlone((await warehouse.readOptionalMethods()).get(method))) return notOffered;
  const mayStop = isPlain && (state.completeRead.agoMs ?? Infinity) < COMPLETE_READ_MS;
  const remember = (code: string | null) => writes({ kind: 'methods', results: [{ method, code }] });
  let isEnd = false;
  try {
    for await (const { records: page, paging } of readSettledList(service, askedOf(stream, filters))) {
      isEnd = mayStop && page.length < (paging?.total ?? Infinity) && (await warehouse.areStored(page));
      // Without writes of its own a step would keep all pages in one transaction.
      yield { ...records(page), writes: [] };
      if (isEnd) break;
    }
    yield remember(null);
    if (!isEnd) yield writes({ kind: 'complete_read' });
    return { kind: 'read', covered: isEnd ? null : { partitions: null }, failure: null };
  } catch (error) {
    if (!(error instanceof SafetySyncError)) throw error;
    // The records read so far are right, and stay.
    if (error.code === 'read_incomplete') return { kind: 'read', covered: null, failure: error };
    if (filters !== undefined || !isNotOffered(error.code)) throw error;
    yield remember(error.code);
    return notOffered;
  }
}
