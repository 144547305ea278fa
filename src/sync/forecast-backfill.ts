/** What a backfill would ask for: reads one number from the service and the ledger, writes nothing. */
import { createRequestMeter } from '../api/request-meter.ts';
import { collectRecords } from '../api/record-sink.ts';
import { streamNamed } from '../streams/index.ts';
import type { StreamName } from '../streams/stream.ts';
import { readBackfillPlan, readSlices } from '../warehouse/backfill-ledger.ts';
import { sliceRecordsFor } from './backfill-plan.ts';
import { toCreationFilters } from './creation-slice.ts';
import type { BackfillRange } from './extract.ts';
import type { RunContext } from './run.ts';

export interface BackfillForecast {
  readonly stream: StreamName;
  /** null: the service does not tell before it is asked for everything. */
  readonly records: number | null;
  /** 0 where the stream is read as a whole. */
  readonly slices: number;
  /** null: this would begin anew. */
  readonly slicesDone: number | null;
  readonly requests: number | null;
}

export interface ForecastRequest {
  readonly stream: StreamName;
  readonly range: BackfillRange;
  readonly restart: boolean;
}

export async function forecastBackfill(
  context: RunContext,
  { stream: name, range, restart }: ForecastRequest,
): Promise<BackfillForecast> {
  const { name: stream, reading, method, answerKey } = streamNamed(name);
  const whole = { stream, records: null, slices: 0, slicesDone: null, requests: null };
  if (reading.kind === 'snapshot') {
    return { ...whole, requests: reading.scope === 'account' ? 1 : context.settings.equipmentTypes.length };
  }
  if (reading.kind !== 'incremental') return whole;
  const answer = await context.api().fetchList({
    method,
    listKey: answerKey,
    params: { limit: 1, ...toCreationFilters({ from: range.fromMs, to: range.toMs }) },
    sink: collectRecords(),
    meter: createRequestMeter(),
    signal: context.signal,
  });
  const total = answer.paging?.total ?? null;
  const scope = { accountId: context.settings.accountId, stream };
  const plan = restart ? null : await readBackfillPlan(context.db, scope);
  const ledger = await readSlices(context.db, scope);
  const isResumed =
    plan !== null &&
    plan.fromMs === range.fromMs &&
    plan.toMs === range.toMs &&
    ledger.some((slice) => slice.status !== 'done');
  const stored = isResumed ? ledger.reduce((sum, slice) => sum + slice.records, 0) : 0;
  const left = total === null ? null : Math.max(0, total - stored);
  const { readers, sliceRecords = sliceRecordsFor({ readers, pageSize: reading.pageSize }) } =
    context.settings;
  const slices = isResumed ? ledger.length : Math.max(1, Math.ceil((total ?? 0) / sliceRecords));
  return {
    stream,
    records: left,
    slices,
    slicesDone: isResumed ? ledger.filter((slice) => slice.status === 'done').length : null,
    // A page for every 500, one that is not full for every slice, and two to see how much there is.
    requests: left === null ? null : Math.ceil(left / reading.pageSize) + slices + 2,
  };
}
