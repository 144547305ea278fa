/** One run of one stream, from lock to closed run record. */
import { createRequestMeter, type RequestMeter } from '../api/requests.ts';
import type { Queryable } from '../database/connection.ts';
import { isCancelled, toKnownError } from '../database/database-error.ts';
import { readOpenIssues } from '../control-tables/issues.ts';
import { countAttributes, noCounts } from '../control-tables/record-counts.ts';
import { closeDeadRuns, hasRecentRun, recordRun, updateRun } from '../control-tables/runs.ts';
import { assertMigrated } from '../database/migration-status.ts';
import { NOTHING_REMOVED, removeExpired } from '../history/retention.ts';
import type { StreamSession } from '../control-tables/stream-session.ts';
import { recordStream, readStreamState } from '../control-tables/stream-state.ts';
import { createLoad, type Load } from '../loading/load.ts';
import { streamShape } from '../database/table-shape.ts';
import { tracksSeen } from '../reading/read.ts';
import { SafetySyncError } from '../../shared/errors.ts';
import { toIso } from '../../shared/time.ts';
import { markFailed, withSpan } from '../../shared/with-span.ts';
import { NO_STATE } from '../streams/state.ts';
import { streamNamed } from '../streams/index.ts';
import {
  isOfSingleRecords,
  isScheduled,
  nothingDone,
  openSession,
  readsWholeStream,
  type Run,
  type RunContext,
  type RunEnd,
  type RunRequest,
  type RunResult,
} from './run.ts';
import { applyPrivacy, NO_PRIVACY } from '../privacy/settings.ts';
import { runSteps } from './run-steps.ts';

function toError(error: unknown, signal: AbortSignal): SafetySyncError {
  if (!signal.aborted || !isCancelled(error)) return toKnownError(error);
  const message = 'a statement was cancelled because a stop was requested';
  return new SafetySyncError('interrupted', message, { cause: error });
}

/** Never rejects: the result describes a failure. */
export async function runStream(context: RunContext, request: RunRequest): Promise<RunResult> {
  const { stream, kind, trigger } = request;
  const about = { 'safety_sync.account': context.settings.accountId, 'safety_sync.stream': stream };
  const attributes = { ...about, 'safety_sync.kind': kind, 'safety_sync.trigger': trigger };
  return await withSpan(`run ${stream}`, attributes, async (span) => {
    const startedMs = context.clock.monotonicMs();
    const meter = createRequestMeter();
    const end = await runLocked(context, request, meter);
    const { requests, retries, throttled } = meter;
    const durationMs = context.clock.monotonicMs() - startedMs;
    span.setAttributes({
      'safety_sync.run_id': end.record.runId ?? undefined,
      'safety_sync.outcome': end.outcome,
      'safety_sync.requests': requests,
      'safety_sync.retries': retries,
      ...countAttributes(end.counts),
    });
    if (end.outcome === 'failed') markFailed(span, end.error.code);
    return { ...end, stream, requests, retries, throttled, durationMs };
  });
}

const taken = (reason: string): RunEnd => ({ ...nothingDone(), outcome: 'skipped', isTaken: true, reason });

async function runLocked(context: RunContext, request: RunRequest, meter: RequestMeter): Promise<RunEnd> {
  const { stream, kind, unlessBegunWithinMs } = request;
  const { accountId } = context.settings;
  let session: StreamSession | undefined;
  try {
    // Another worker may have the same schedule: what it has begun is not begun again, but a reconcile waits for its sync.
    const mayWait = !isScheduled(request) || unlessBegunWithinMs !== undefined;
    session = await openSession(context, stream, mayWait ? 'wait' : 'skip');
    if (session === undefined) return taken('another run of this stream is under way');
    context.events.onSession?.(stream);
    // Another process may have migrated the database since this one began.
    await assertMigrated(session.connection, 'tables');
    const withinMs = unlessBegunWithinMs?.();
    const { db } = session.connection;
    if (withinMs !== undefined && (await hasRecentRun(db, { accountId, stream, kind, withinMs })))
      return taken(`another worker has done this ${kind}`);
    return await runInSession(context, request, session, meter);
  } catch (error) {
    return { ...nothingDone(), outcome: 'failed', error: toError(error, context.signal) };
  } finally {
    await session?.close().catch(() => undefined);
  }
}

/** At a new address of the service the first run reads everything, and deletes what that address lacks, without the guard. */
const afterMove = (request: RunRequest): RunRequest =>
  readsWholeStream(request) ? { ...request, kind: 'reconcile', allowMassDelete: true } : request;

/** Everything that needs the lock. */
async function runInSession(
  context: RunContext,
  asked: RunRequest,
  session: StreamSession,
  meter: RequestMeter,
): Promise<RunEnd> {
  const { settings, signal, events, owner } = context;
  const { accountId } = settings;
  const { db } = session.connection;
  const dead = await closeDeadRuns(db, { accountId, stream: asked.stream });
  if (dead > 0) events.onDeadRuns?.(asked.stream, dead);
  const state = await readStreamState(db, { accountId, stream: asked.stream });
  const request = state.isMoved ? afterMove(asked) : asked;
  if (state === NO_STATE) await recordStream(db, accountId, request.stream);
  const watermark = toIso(state.watermark);
  const { kind, trigger } = asked;
  const runId = await recordRun(db, {
    ...{ account_id: accountId, stream: asked.stream, kind, trigger, owner },
    ...{ backend_pid: session.backendPid, watermark_before: watermark },
  });
  let load: Load | undefined;
  try {
    const stream = streamNamed(request.stream, context.streams);
    const { protection, cleaned } = await applyPrivacy(session, {
      stream,
      accountId,
      settings: context.privacy ?? NO_PRIVACY,
      signal,
    });
    if (cleaned !== undefined) events.onCleaned?.(stream.name, cleaned);
    load = await createLoad({
      session,
      protection,
      shape: streamShape(stream),
      accountId,
      runId,
      guard: {
        maxRatio: settings.maxDeleteRatio,
        // The reader of people has a rule of its own.
        allowMassDelete: request.allowMassDelete === true || stream.readMode.kind === 'people',
      },
      fullCompare: request.kind === 'reconcile' || request.onlyRecord !== undefined,
      tracksSeen: !isOfSingleRecords(request) && tracksSeen(stream, request.kind, state),
      openIssues: await readOpenIssues(db, { accountId, stream: stream.name }),
    });
    const run = { ...context, accountId, runId, request, stream, meter, session, state, load };
    const end = await runSteps(run);
    await removeOld(run);
    return end;
  } catch (caught) {
    // Unfinished statements still use the session, and an open transaction would roll back the closing of the run.
    if (load === undefined) await session.rollback();
    await load?.abort();
    const error = await session.explain(toError(caught, signal));
    const end = {
      status: 'failed',
      failure: error,
      repaired: null,
      note: null,
      watermark_after: watermark,
    } as const;
    const close = (to: Queryable) => updateRun(to, { accountId, runId }, { counts: null, meter, end });
    // Over the pool if the session is gone. If the database is, too, the stream's next run closes the row.
    await close(db)
      .catch(() => close(context.db))
      .catch(() => undefined);
    const record = { runId, watermarkBefore: watermark, watermarkAfter: watermark };
    return { outcome: 'failed', error, counts: load?.committed ?? noCounts(), repaired: null, record };
  }
}

/** The run is already closed, so a failure here is logged, and the stream's next run tries again. */
async function removeOld(run: Run): Promise<void> {
  const { retention, stream, session, accountId, signal, events } = run;
  if (isOfSingleRecords(run.request) || retention === undefined) return;
  try {
    const shape = streamShape(stream);
    const removed = await removeExpired({ session, shape, accountId, retention, signal });
    if (Object.values(removed).some((count) => count > 0)) events.onRemoved?.(stream.name, removed);
  } catch (error) {
    await session.rollback();
    events.onRemoved?.(stream.name, NOTHING_REMOVED, toError(error, signal));
  }
}
