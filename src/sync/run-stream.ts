/** One run of one stream, from lock to closed run record: the only file that knows the order of the steps. */
import { createRequestMeter, type RequestMeter } from '../api/request-meter.ts';
import { SafetySyncError } from '../shared/errors.ts';
import { markFailed, withSpan } from '../shared/with-span.ts';
import { streamNamed } from '../streams/index.ts';
import type { Database } from '../database/connection.ts';
import { isCancelled, toDatabaseError } from '../database/database-error.ts';
import { readOpenRejections } from '../database/issues.ts';
import { noCounts, type RecordCounts } from '../database/record-counts.ts';
import {
  closeDeadRuns,
  finishRun,
  hasRecentRun,
  type NewRun,
  readRunningRun,
  recordSkippedRun,
  removeRun,
  startRun,
  updateRunCounts,
} from '../database/runs.ts';
import { createStaging, streamShape } from '../loading/staging.ts';
import { openStreamSession, type StreamSession } from '../database/stream-session.ts';
import { readStreamState, writeStreamState } from '../database/stream-state.ts';
import type { StateChange } from '../streams/state.ts';
import { closeFailedRun, requestsOf } from './close-failed-run.ts';
import type { ExtractContext } from '../reading/extract.ts';
import { type Ending, successOf, toEnding, withRemarks } from './ending.ts';
import { extractRetry } from './stored-issues.ts';
import { extractOf, tracksSeen } from '../reading/extract-of.ts';
import {
  NO_RECORD,
  type RunContext,
  type RunFigures,
  type RunRecord,
  type RunRequest,
  type RunResult,
} from './run.ts';
import { countAttributes, createLoader, type Loader } from '../loading/load.ts';

/** Anything that is not one of our errors comes from the database or is a defect. */
function toError(error: unknown, signal: AbortSignal): SafetySyncError {
  if (signal.aborted && isCancelled(error)) {
    const message = 'a statement was cancelled because the worker stops';
    return new SafetySyncError('interrupted', message, { cause: error });
  }
  if (error instanceof SafetySyncError) return error;
  const fromDatabase = error instanceof Error && ('code' in error || error.cause !== undefined);
  return fromDatabase
    ? toDatabaseError(error)
    : new SafetySyncError('internal_error', String(error), { cause: error });
}

/** Never rejects: how a run ended is its result. */
export async function runStream(context: RunContext, request: RunRequest): Promise<RunResult> {
  const { settings } = context;
  const { stream, kind, trigger } = request;
  const about = { 'safety_sync.account': settings.accountId, 'safety_sync.stream': stream };
  const attributes = { ...about, 'safety_sync.kind': kind, 'safety_sync.trigger': trigger };
  return await withSpan(`run ${stream}`, attributes, async (span) => {
    const result = await runOnce(context, request);
    span.setAttributes({
      'safety_sync.run_id': result.record.runId ?? undefined,
      'safety_sync.outcome': result.outcome,
      'safety_sync.requests': result.requests,
      'safety_sync.retries': result.retries,
      ...countAttributes(result.counts),
    });
    if (result.outcome === 'failed') markFailed(span, result.error.code);
    return result;
  });
}

async function runOnce(context: RunContext, request: RunRequest): Promise<RunResult> {
  const startedMs = context.clock.monotonicMs();
  const meter = createRequestMeter();
  const figures = (
    counts: Readonly<RecordCounts>,
    { record = NO_RECORD, repaired = null }: Partial<Pick<RunFigures, 'record' | 'repaired'>> = {},
  ): RunFigures => ({
    record,
    repaired,
    stream: request.stream,
    counts,
    requests: meter.requests,
    retries: meter.retries,
    refusals: meter.refusals,
    durationMs: context.clock.monotonicMs() - startedMs,
  });
  const { accountId } = context.settings;
  /** `db` null: without a row. */
  const skipTaken = async (db: Database | null, reason: string): Promise<RunResult> => {
    const run = newRun(context, request, { backendPid: null, watermarkMs: null });
    const runId = db === null ? null : await recordSkippedRun(db, run, reason);
    const record = { ...NO_RECORD, runId };
    return { ...figures(noCounts(), { record }), outcome: 'skipped', isTaken: true, reason };
  };
  let session: StreamSession | undefined;
  try {
    session = await openStreamSession({
      databaseUrl: context.databaseUrl,
      accountId,
      stream: request.stream,
      whenBusy: request.whenBusy ?? (request.trigger === 'schedule' ? 'skip' : 'wait'),
      signal: context.signal,
      onWait: () => {
        void readRunningRun(context.db, accountId, request.stream)
          .catch(() => undefined)
          .then((holder) => context.events.onWait?.(request.stream, holder));
      },
    });
    if (session === undefined) {
      // Workers that share the work would write most of all rows, each saying that another one does it.
      const db = isScheduled(request) ? null : context.db;
      return await skipTaken(db, 'another run of this stream is under way');
    }
    context.events.onSession?.(request.stream, session.backendPid);
    if (request.unlessBegunWithinMs !== undefined) {
      const { kind, stream } = request;
      const withinMs = request.unlessBegunWithinMs();
      if (await hasRecentRun(session.connection.db, { accountId, stream, kind, withinMs })) {
        return await skipTaken(session.connection.db, `another worker has done this ${kind}`);
      }
    }
    const { result, counts, repaired, record } = await runInSession({ context, request, session, meter });
    return { ...figures(counts, { record, repaired }), ...result };
  } catch (error) {
    return { ...figures(noCounts()), outcome: 'failed', error: toError(error, context.signal) };
  } finally {
    await session?.close().catch(() => undefined);
    if (session !== undefined) context.events.onSessionEnd?.(request.stream, session.backendPid);
  }
}

/** Nobody waits for its answer: one that asked nothing is told in the log and counted, and leaves no row. */
const isScheduled = ({ trigger }: RunRequest): boolean => trigger === 'schedule';

function newRun(
  context: RunContext,
  request: RunRequest,
  { backendPid, watermarkMs }: { backendPid: number | null; watermarkMs: number | null },
): NewRun {
  return {
    accountId: context.settings.accountId,
    stream: request.stream,
    kind: request.kind,
    trigger: request.trigger,
    owner: context.owner,
    backendPid,
    watermark: toInstant(watermarkMs),
  };
}

const toInstant = (ms: number | null): string | null => (ms === null ? null : new Date(ms).toISOString());

interface SessionRun {
  readonly context: RunContext;
  readonly request: RunRequest;
  readonly session: StreamSession;
  readonly meter: RequestMeter;
}

interface SessionEnd {
  readonly record: RunRecord;
  readonly result: Ending;
  readonly counts: Readonly<RecordCounts>;
  readonly repaired: number | null;
}

/** Everything that happens while the lock is held. */
async function runInSession(run: SessionRun): Promise<SessionEnd> {
  const { context, request, session, meter } = run;
  const { accountId } = context.settings;
  const { db } = session.connection;
  const dead = await closeDeadRuns(db, accountId, request.stream);
  if (dead > 0) context.events.onDeadRuns?.(request.stream, dead);
  const state = await readStreamState(db, accountId, request.stream);
  const runId = await startRun(
    db,
    newRun(context, request, { backendPid: session.backendPid, watermarkMs: state.watermark?.ms ?? null }),
  );
  const key = { accountId, runId };
  let record: RunRecord = {
    runId,
    watermarkBefore: toInstant(state.watermark?.ms ?? null),
    watermarkAfter: toInstant(state.watermark?.ms ?? null),
  };
  let stored: Readonly<RecordCounts> = noCounts();
  let loader: Loader | undefined;
  try {
    const stream = streamNamed(request.stream, context.streams);
    const shape = streamShape(stream);
    const staging = createStaging(session, {
      shape,
      accountId,
      tracksSeen: tracksSeen(stream, request.kind),
    });
    await staging.open();
    const created = createLoader({
      session,
      staging,
      shape,
      accountId,
      runId,
      guard: { maxRatio: context.settings.maxDeleteRatio, allowMassDelete: request.allowMassDelete },
      distrustsHashes: request.kind === 'reconcile',
      keyless: state.keyless,
      openRejections: await readOpenRejections(db, { accountId, stream: stream.name }),
    });
    loader = created;
    const extractContext: ExtractContext = {
      stream,
      get api() {
        return context.api();
      },
      meter,
      loader: created,
      state,
      settings: context.settings,
      clock: context.clock,
      kind: request.kind,
      force: request.force,
      range: request.range ?? { fromMs: null, toMs: null },
      restart: request.restart ?? false,
      onProgress: (progress) => context.events.onProgress?.(request.stream, progress),
      session,
      signal: context.signal,
      checkpoint: async (alsoStore) => {
        stored = await created.commit({
          covered: null,
          isCheckpoint: true,
          finish: async (tx, counts) => {
            await Promise.all([alsoStore(tx), updateRunCounts(tx, key, counts, requestsOf(meter))]);
          },
        });
      },
    };
    const extract = request.retryIssues === true ? extractRetry : extractOf(stream);
    const extraction = await extract(extractContext);
    let ending = toEnding(extraction);
    const change: StateChange = extraction.state ?? {};
    const watermarkAfter = toInstant((change.watermark ?? state.watermark)?.ms ?? null);
    let repaired: number | null = null;
    stored = await created.commit({
      covered: extraction.outcome === 'read' ? extraction.covered : null,
      finish: async (tx, counts, remarks) => {
        ending = withRemarks(toEnding(extraction), remarks);
        if (extraction.outcome === 'read' && extraction.missedUpToMs !== undefined) {
          repaired = await staging.countUpTo(tx, extraction.missedUpToMs);
        }
        await writeStreamState(tx, accountId, stream.name, {
          change,
          success: successOf(ending, { request, requests: meter.requests }),
        });
        if (ending.outcome === 'skipped' && isScheduled(request) && meter.requests === 0) {
          record = NO_RECORD;
          await removeRun(tx, key);
          return;
        }
        await finishRun(tx, {
          ...key,
          counts,
          requests: requestsOf(meter),
          watermark: watermarkAfter,
          status: ending.outcome,
          repaired,
          note:
            ending.outcome === 'skipped'
              ? ending.reason
              : ending.outcome === 'succeeded'
                ? ending.note
                : null,
          failure: ending.outcome === 'failed' ? ending.error : null,
        });
      },
    });
    return { result: ending, counts: stored, repaired, record: { ...record, watermarkAfter } };
  } catch (caught) {
    // What is still on its way uses the session, and a transaction that is open there would take the closing with it.
    await loader?.idle();
    const error = await session.explain(toError(caught, context.signal));
    await closeFailedRun({ session: db, pool: context.db }, { run: key, error, meter });
    return { result: { outcome: 'failed', error }, counts: stored, repaired: null, record };
  }
}
