/** A run of follow-ups: its requests (specification: followups.list), and what its walks have in common. */
import type { SafetySyncError } from '../../shared/errors.ts';
import { isRequestSpecific } from '../api/response-errors.ts';
import type { ListPage } from '../api/requests.ts';
import { askedOf, fetchPage, isBeyondLast, readSettledList } from './list.ts';
import type { TimeSlice } from '../streams/state.ts';
import type { Params, ReadRequest } from './read-request.ts';

/** With so many records in a row that the service fails for, it fails altogether. */
const MOST_FAILING = 10;

export type FollowupRun = ReturnType<typeof createFollowupRun>;

/** `common`: parameters of all its requests. */
export function createFollowupRun(read: ReadRequest, common: Params) {
  const { stream, service } = read;
  const { pageSize = 1 } = askedOf(stream);
  const listOf = (params: Params) => askedOf(stream, { ...common, ...params });

  /** `isSuspect`: a similar request failed, and two attempts show whether this one does, too. */
  const ask = (params: Params, isSuspect = false): Promise<ListPage> =>
    fetchPage(service, { ...listOf(params), retries: isSuspect ? 1 : undefined });

  /** One page; undefined: the service fails for its records, or has none so far back. */
  async function askPage(params: Params): Promise<ListPage | undefined> {
    try {
      return await ask({ limit: pageSize, ...params });
    } catch (error) {
      const isAbsent = Number(params['page']) > 1 && isBeyondLast(error);
      if (!isRequestSpecific(error) && !isAbsent) throw error;
      return undefined;
    }
  }

  return {
    read,
    pageSize,
    /** Ranges that the service does not return, or where it contradicts itself, as the ledger has them. A walk goes on below them. */
    failed: [] as readonly { readonly range: TimeSlice; readonly error: SafetySyncError }[],
    notes: [] as string[],
    /** Names of the records that requests for changes showed. */
    changed: new Set<string>(),
    ask,
    askPage,
    /** By page numbers, until it is complete. */
    readSettled: (params: Params) => readSettledList(service, listOf(params)),

    /** The newest record older than those that the service fails for; undefined: there is none. */
    async askBeyond(params: Params, failure: SafetySyncError) {
      for (let page = 2; page <= MOST_FAILING; page += 1) {
        try {
          return (await ask({ ...params, limit: 1, page }, true)).records[0];
        } catch (error) {
          if (isBeyondLast(error)) return undefined;
          if (!isRequestSpecific(error)) throw error;
        }
      }
      throw failure;
    },

    /** How many there are; undefined: the service does not say, or fails for the newest record, which the response would contain. */
    askTotal: async (): Promise<number | undefined> => (await askPage({ limit: 1 }))?.paging?.total,
  };
}
