/** One run of one stream, from lock to closed run record. */
import { createRequestMeter, type RequestMeter } from '../api/requests.ts';
import type { Database, Queryable } from '../database/connection.ts';
import { isCancelled, toKnownError } from '../database/database-error.ts';
import { readOpenIssues } from '../control-tables/issues.ts';
import { countAttributes, noCounts } from '../control-tables/record-counts.ts';
import { closeDeadRuns, finishRun, hasRecentRun, recordRun } from '../control-tables/runs.ts';
import { assertTablesMigrated } from '../database/migration-status.ts';
import { NOTHING_REMOVED, removeExpired } from '../history/retention.ts';
import type { StreamSession } from '../control-tables/stream-session.ts';
import { recordStream, readStreamState } from '../control-tables/stream-state.ts';
import { createLoad, type Load } from '../loading/load.ts';
import { streamShape } from '../database/table-shape.ts';
import { tracksSeen } from '../reading/read.ts';
import { retrying } from '../../shared/backoff.ts';
import { SafetySyncError } from '../../shared/errors.ts';
import { SECOND_MS, toIso } from '../../shared/time.ts';
import { markFailed, withSpan } from '../../shared/with-span.ts';
import { NO_STATE } from '../streams/state.ts';
import { streamNamed } from '../streams/index.ts';
import type { StreamDefinition } from '../streams/stream.ts';
import {
  afterMove,
  isOfSingleRecords,
  isScheduled,
  NO_RECORD,
  nothingDone,
  openSession,
  type RunContext,
  type RunEnd,
  type RunRecord,
  type RunRequest,
  type RunResult,
} from './run.ts';
import { applyPrivacy, NO_PRIVACY } from '../privacy/settings.ts';
import { runSteps, type SessionRun } from './run-steps.ts';

/** A restarting database is available again within about a second; a longer failure must not block the worker. */
const CLOSING = { mostAttempts: 5, delays: { firstMs: 100, mostMs: SECOND_MS } };
const CLOSING_TIMEOUT_MS = 2 * SECOND_MS;

function toError(error: unknown, signal: AbortSignal): SafetySyncError {
  if (signal.aborted && isCancelled(error)) {
    const message = 'a statement was cancelled because a stop was requested';
    return new SafetySyncError('interrupted', message, { cause: error });
  }
  return toKnownError(error);
}

/** Never rejects: the result describes a failure. */
export async function runStream(context: RunContext, request: RunRequest): Promise<RunResult> {
  const { stream, kind, trigger } = request;
  const about = { 'safety_sync.account': context.settings.accountId, 'safety_sync.stream': stream };
  const attributes = { ...about, 'safety_sync.kind': kind, 'safety_sync.trigger': trigger };
  return await withSpan(`run ${stream}`, attributes, async (span) => {
    const startedMs = context.clock.monotonicMs();
    const meter = createRequestMeter();
    const end = await runOnce(context, request, meter);
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

async function runOnce(context: RunContext, request: RunRequest, meter: RequestMeter): Promise<RunEnd> {
  const { stream, kind } = request;
  const scope = { accountId: context.settings.accountId, stream };
  /** `db` null: without a row. */
  const skip = async (db: Database | null, reason: string): Promise<RunEnd> => {
    const run = { ...newRun(context, request), backendPid: null, watermark: null };
    const runId = db === null ? null : await recordRun(db, run, reason);
    return { ...nothingDone(), record: { ...NO_RECORD, runId }, outcome: 'skipped', isTaken: true, reason };
  };
  let session: StreamSession | undefined;
  try {
    const whenBusy = request.whenBusy ?? (isScheduled(request) ? 'skip' : 'wait');
    session = await openSession(context, stream, whenBusy);
    if (session === undefined) {
      // If two workers share a schedule, one of them skips each run because the other has the lock: `runs` would contain
      // little else.
      const db = isScheduled(request) ? null : context.db;
      return await skip(db, 'another run of this stream is under way');
    }
    context.events.onSession?.(stream);
    // Another process may have migrated the database since this one began.
    await assertTablesMigrated(session.connection);
    if (request.unlessBegunWithinMs !== undefined) {
      const withinMs = request.unlessBegunWithinMs();
      const { db } = session.connection;
      if (await hasRecentRun(db, { ...scope, kind, withinMs })) {
        return await skip(db, `another worker has done this ${kind}`);
      }
    }
    return await runInSession({ context, request, session, meter });
  } catch (error) {
    return { ...nothingDone(), outcome: 'failed', error: toError(error, context.signal) };
  } finally {
    await session?.close().catch(() => undefined);
    if (session !== undefined) context.events.onSessionEnd?.(stream);
  }
}

const newRun = (context: RunContext, { stream, kind, trigger }: RunRequest) => ({
  accountId: context.settings.accountId,
  stream,
  kind,
  trigger,
  owner: context.owner,
});

/** Runs everything that needs the lock. */
async function runInSession({ request: asked, ...run }: SessionRun): Promise<RunEnd> {
  const { context, session, meter } = run;
  const { accountId } = context.settings;
  const { db } = session.connection;
  const dead = await closeDeadRuns(db, { accountId, stream: asked.stream }, context.owner);
  if (dead > 0) context.events.onDeadRuns?.(asked.stream, dead);
  const state = await readStreamState(db, accountId, asked.stream);
  const request = state.isMoved ? afterMove(asked) : asked;
  if (state === NO_STATE) await recordStream(db, accountId, request.stream);
  const watermark = toIso(state.watermark);
  const { backendPid } = session;
  const runId = await recordRun(db, { ...newRun(context, asked), backendPid, watermark });
  context.events.onBegun?.(request.stream);
  const key = { accountId, runId };
  const record: RunRecord = { runId, watermarkBefore: watermark, watermarkAfter: watermark };
  let load: Load | undefined;
  try {
    const stream = streamNamed(request.stream, context.streams);
    const { protection, cleaned, lifted } = await applyPrivacy(session, {
      stream,
      accountId,
      settings: context.privacy ?? NO_PRIVACY,
      signal: context.signal,
    });
    if (cleaned !== undefined) context.events.onCleaned?.(stream.name, cleaned);
    load = await createLoad({
      session,
      protection,
      shape: streamShape(stream),
      ...key,
      guard: {
        maxRatio: context.settings.maxDeleteRatio,
        // The reader of people has a rule of its own.
        allowMassDelete: request.allowMassDelete === true || stream.readMode.kind === 'people',
      },
      fullCompare: request.kind === 'reconcile' || request.onlyRecord !== undefined,
      tracksSeen: !isOfSingleRecords(request) && tracksSeen(stream, request.kind, state),
      openIssues: await readOpenIssues(db, { accountId, stream: stream.name }),
      lifted,
    });
    const end = await runSteps({ ...run, request, load, stream, state, key, record, lifted });
    await tidy({ ...run, request }, stream);
    return end;
  } catch (caught) {
    // Unfinished statements still use the session, and an open transaction would roll back the closing of the run.
    if (load === undefined) await session.rollback();
    await load?.abort();
    const error = await session.explain(toError(caught, context.signal));
    const failed = { status: 'failed', failure: error, counts: null, repaired: null, note: null } as const;
    const close = (to: Queryable) => finishRun(to, { ...key, ...failed, requests: meter, watermark });
    // Over the pool if the session is gone. If the run cannot be closed now, the stream's next run closes it.
    await close(db)
      .catch(() =>
        retrying(() => close(context.db), { ...CLOSING, signal: AbortSignal.timeout(CLOSING_TIMEOUT_MS) }),
      )
      .catch(() => undefined);
    return { outcome: 'failed', error, counts: load?.committed ?? noCounts(), repaired: null, record };
  }
}

/** The run is already closed, so a failure here is logged, and the stream's next run tries again. */
async function tidy({ context, request, session }: SessionRun, stream: StreamDefinition): Promise<void> {
  const { retention, settings, signal, events } = context;
  if (isOfSingleRecords(request) || retention === undefined) return;
  try {
    const removed = await removeExpired({
      session,
      shape: streamShape(stream),
      accountId: settings.accountId,
      retention,
      signal,
    });
    if (Object.values(removed).some((count) => count > 0)) events.onRemoved?.(stream.name, removed);
  } catch (error) {
    await session.rollback();
    events.onRemoved?.(stream.name, NOTHING_REMOVED, toError(error, signal));
  }
}
