/**
 * The requests that a backfill would send: reads one number from the service and the ledger, writes nothing.
 */
import { createRequestMeter } from '../engine/api/requests.ts';
import { streamNamed } from '../engine/streams/index.ts';
import type { LedgerSlice, TimeSlice } from '../engine/streams/state.ts';
import type { StreamName } from '../engine/streams/stream.ts';
import { readStreamState } from '../engine/control-tables/stream-state.ts';
import { readLedger } from '../engine/control-tables/backfill-ledger.ts';
import { isOpen, isResumable, toOpen } from '../engine/reading/backfill.ts';
import { sliceRecordsFor } from '../engine/reading/backfill-plan.ts';
import { toCreationFilters } from '../engine/reading/creation-slice.ts';
import type { RunContext } from '../engine/sync/run.ts';

export interface BackfillForecast {
  readonly stream: StreamName;
  /** null: the number is known only after the whole list was read. */
  readonly records: number | null;
  /** 0: the stream is read as a whole. */
  readonly slices: number;
  /** null: this would start from the beginning. */
  readonly slicesDone: number | null;
  readonly requests: number | null;
}

/** At its end a backfill requests three totals: of all records, of those up to its beginning, and of those since. */
const CHECK_REQUESTS = 3;

interface ForecastRequest {
  readonly stream: StreamName;
  readonly range: TimeSlice;
  readonly restart: boolean;
  /** The warehouse lacks tables: there is no ledger to look at. */
  readonly isMigrated: boolean;
}

export async function forecastBackfill(
  context: RunContext,
  { stream: name, range, restart, isMigrated }: ForecastRequest,
): Promise<BackfillForecast> {
  const { name: stream, readMode, method, responseKey } = streamNamed(name);
  const whole = { stream, records: null, slices: 0, slicesDone: null, requests: null };
  if (readMode.kind === 'snapshot') {
    return { ...whole, requests: readMode.per === 'account' ? 1 : context.settings.equipmentTypes.length };
  }
  if (readMode.kind !== 'incremental') return whole;
  const response = await context.api().page({
    method,
    listKey: responseKey,
    params: { limit: 1, ...toCreationFilters(range) },
    meter: createRequestMeter(),
    signal: context.signal,
  });
  const total = response.paging?.total ?? null;
  const { readers } = context.settings;
  const resumed = isMigrated ? await readResumable(context, { stream, range, restart }) : undefined;
  const slices =
    resumed?.length ?? Math.max(1, Math.ceil((total ?? 0) / sliceRecordsFor(readers, readMode.pageSize)));
  const open = resumed?.filter(isOpen).length ?? slices;
  const done = resumed?.reduce((sum, slice) => sum + (isOpen(slice) ? toOpen(slice) : slice).records, 0) ?? 0;
  const left = open === 0 ? 0 : total === null ? null : Math.max(0, total - done);
  // One for the total, and one to find the oldest record of a new backfill.
  const first = resumed === undefined ? 2 : 1;
  return {
    stream,
    records: left,
    slices,
    slicesDone: resumed === undefined ? null : slices - open,
    // One request for every 500 records, and one for the partial page of every slice.
    requests: left === null ? null : Math.ceil(left / readMode.pageSize) + open + first + CHECK_REQUESTS,
  };
}

/** The slices that the backfill would resume; undefined: it would start from the beginning. */
async function readResumable(
  { db, settings: { accountId } }: RunContext,
  { stream, range, restart }: Omit<ForecastRequest, 'isMigrated'>,
): Promise<readonly LedgerSlice[] | undefined> {
  const stored = await readLedger(db, { accountId, stream });
  const watermarkMs = (await readStreamState(db, accountId, stream)).watermark?.ms ?? null;
  const isSame = stored !== undefined && isResumable(stored, { range, restart, watermarkMs });
  return isSame ? stored.slices : undefined;
}
