/** One run of one stream, from lock to closed run record: the only file that knows the order of the steps. */
import { createRequestMeter, type RequestMeter } from '../api/request-meter.ts';
import { SafetySyncError } from '../shared/errors.ts';
import { streamNamed } from '../streams/index.ts';
import { isCancelled, toDatabaseError } from '../warehouse/database-error.ts';
import { readOpenIdentities } from '../warehouse/issues.ts';
import { noCounts, type RecordCounts } from '../warehouse/record-counts.ts';
import {
  closeDeadRuns,
  failRun,
  finishRun,
  hasRecentRun,
  type NewRun,
  readRunningRun,
  recordSkippedRun,
  startRun,
  updateRunCounts,
} from '../warehouse/runs.ts';
import { createStaging, streamShape } from '../warehouse/staging.ts';
import { openStreamSession, type StreamSession } from '../warehouse/stream-session.ts';
import { readStreamState, type StateChange, writeStreamState } from '../warehouse/stream-state.ts';
import type { ExtractContext, Extraction } from './extract.ts';
import { extractRetry } from './extract-retry.ts';
import { extractOf, tracksSeen } from './extract-of.ts';
import type { RunContext, RunFigures, RunRequest, RunResult } from './run.ts';
import { createLoader } from './load.ts';

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

export async function runStream(context: RunContext, request: RunRequest): Promise<RunResult> {
  const startedMs = context.clock.monotonicMs();
  const meter = createRequestMeter();
  const figures = (counts: Readonly<RecordCounts>, repaired: number | null = null): RunFigures => ({
    repaired,
    stream: request.stream,
    counts,
    requests: meter.requests,
    retries: meter.retries,
    refusals: meter.refusals,
    durationMs: context.clock.monotonicMs() - startedMs,
  });
  const { accountId } = context.settings;
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
      const reason = 'another run of this stream is under way';
      await recordSkippedRun(
        context.db,
        newRun(context, request, { backendPid: null, watermarkMs: null }),
        reason,
      );
      return { ...figures(noCounts()), outcome: 'skipped', reason };
    }
    context.events.onSession?.(request.stream, session.backendPid);
    if (request.unlessBegunWithinMs !== undefined) {
      const { kind, stream } = request;
      const withinMs = request.unlessBegunWithinMs();
      if (await hasRecentRun(session.connection.db, { accountId, stream, kind, withinMs })) {
        const reason = `another worker has done this ${kind}`;
        const run = newRun(context, request, { backendPid: null, watermarkMs: null });
        await recordSkippedRun(session.connection.db, run, reason);
        return { ...figures(noCounts()), outcome: 'skipped', reason };
      }
    }
    const { result, counts, repaired } = await runInSession({ context, request, session, meter });
    return { ...figures(counts, repaired), ...result };
  } catch (error) {
    return { ...figures(noCounts()), outcome: 'failed', error: toError(error, context.signal) };
  } finally {
    await session?.close().catch(() => undefined);
    if (session !== undefined) context.events.onSessionEnd?.(request.stream, session.backendPid);
  }
}

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
    watermark: watermarkMs === null ? null : new Date(watermarkMs).toISOString(),
  };
}

interface SessionRun {
  readonly context: RunContext;
  readonly request: RunRequest;
  readonly session: StreamSession;
  readonly meter: RequestMeter;
}

type Ending = Pick<RunResult, 'outcome'> &
  (
    | { readonly outcome: 'succeeded'; readonly note: string | null }
    | { readonly outcome: 'skipped'; readonly reason: string; readonly dueInMs?: number | undefined }
    | { readonly outcome: 'failed'; readonly error: SafetySyncError }
  );

interface SessionEnd {
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
    newRun(context, request, { backendPid: session.backendPid, watermarkMs: state.watermarkMs }),
  );
  let stored: Readonly<RecordCounts> = noCounts();
  try {
    const stream = streamNamed(request.stream);
    const shape = streamShape(stream);
    const staging = createStaging(session, {
      shape,
      accountId,
      tracksSeen: tracksSeen(stream, request.kind),
    });
    await staging.open();
    const loader = createLoader({
      session,
      staging,
      shape,
      accountId,
      runId,
      guard: { maxRatio: context.settings.maxDeleteRatio, allowMassDelete: request.allowMassDelete },
      distrustsHashes: request.kind === 'reconcile',
      openIdentities: await readOpenIdentities(db, { accountId, stream: stream.name }),
    });
    const extractContext: ExtractContext = {
      stream,
      get api() {
        return context.api();
      },
      meter,
      loader,
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
        stored = await loader.commit({
          covered: null,
          finish: async (tx, counts) => {
            await alsoStore(tx);
            await updateRunCounts(tx, runId, counts, requestsOf(meter));
          },
        });
      },
    };
    const extract = request.retryIssues === true ? extractRetry : extractOf(stream);
    const extraction = await extract(extractContext);
    const ending = toEnding(extraction);
    const change: StateChange = extraction.outcome === 'read' ? extraction.state : {};
    let repaired: number | null = null;
    stored = await loader.commit({
      covered: extraction.outcome === 'read' ? extraction.covered : null,
      finish: async (tx, counts) => {
        if (extraction.outcome === 'read' && extraction.missedUpToMs !== undefined) {
          repaired = await staging.countUpTo(tx, extraction.missedUpToMs);
        }
        await writeStreamState(tx, accountId, stream.name, {
          change,
          succeeded: ending.outcome === 'succeeded',
        });
        const watermarkMs = change.watermarkMs ?? state.watermarkMs;
        await finishRun(tx, {
          runId,
          counts,
          requests: requestsOf(meter),
          watermark: watermarkMs === null ? null : new Date(watermarkMs).toISOString(),
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
    return { result: ending, counts: stored, repaired };
  } catch (caught) {
    const error = await session.explain(toError(caught, context.signal));
    // Over the session if it lives, else over the pool: a lost connection must not leave the run open.
    await failRun(db, runId, error, requestsOf(meter)).catch(() =>
      failRun(context.db, runId, error, requestsOf(meter)).catch(() => undefined),
    );
    return { result: { outcome: 'failed', error }, counts: stored, repaired: null };
  }
}

function requestsOf(meter: RequestMeter) {
  return { requests: meter.requests, retries: meter.retries, lastRequestId: meter.lastRequestId };
}

function toEnding(extraction: Extraction): Ending {
  switch (extraction.outcome) {
    case 'skipped':
      return { outcome: 'skipped', reason: extraction.reason, dueInMs: extraction.dueInMs };
    case 'read':
      return extraction.failure === null
        ? { outcome: 'succeeded', note: extraction.note }
        : { outcome: 'failed', error: extraction.failure };
  }
}
