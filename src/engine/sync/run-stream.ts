/** One run of one stream, from lock to closed run record. */
import { createRequestMeter, type RequestMeter } from '../api/requests.ts';
import type { Database, Queryable } from '../database/connection.ts';
import { isCancelled, toKnownError } from '../database/database-error.ts';
import { readOpenIssues } from '../control-tables/issues.ts';
import { countAttributes, noCounts, type RecordCounts } from '../control-tables/record-counts.ts';
import {
  closeDeadRuns,
  failRun,
  hasRecentRun,
  type NewRun,
  recordSkippedRun,
  startRun,
} from '../control-tables/runs.ts';
import { assertMigrated } from '../../engine/database/migration-status.ts';
import { NOTHING_REMOVED, removeExpired } from '../history/retention.ts';
import { describeHolder } from '../control-tables/lock-holders.ts';
import { openStreamSession, type StreamSession } from '../control-tables/stream-session.ts';
import { recordStream, readStreamState } from '../control-tables/stream-state.ts';
import { createLoad, type Load } from '../loading/load.ts';
import { streamShape } from '../database/table-shape.ts';
import { tracksSeen } from '../reading/read.ts';
import { retrying } from '../../shared/backoff.ts';
import { SafetySyncError } from '../../shared/errors.ts';
import { SECOND_MS } from '../../shared/time.ts';
import { markFailed, withSpan } from '../../shared/with-span.ts';
import { NO_STATE } from '../streams/state.ts';
import { streamNamed } from '../streams/index.ts';
import type { StreamDefinition } from '../streams/stream.ts';
import {
  announceWait,
  isOfSingleRecords,
  isScheduled,
  NO_RECORD,
  type RunContext,
  type RunFigures,
  type RunRecord,
  type RunRequest,
  type RunResult,
  watermarkText,
} from './run.ts';
import { applyPrivacy, NO_PRIVACY } from '../privacy/settings.ts';
import { runSteps, type SessionRun, type StepsEnd } from './run-steps.ts';
import type { RunKey } from '../control-tables/control-tables.ts';

/** A restarting database is available again within about a second; a longer failure must not block the worker. */
const CLOSING = { attempts: 5, delays: { firstMs: 100, mostMs: SECOND_MS } };
const CLOSING_TIMEOUT_MS = 2 * SECOND_MS;

function toError(error: unknown, signal: AbortSignal): SafetySyncError {
  if (signal.aborted && isCancelled(error)) {
    const message = 'a statement was cancelled because a stop was asked for';
    return new SafetySyncError('interrupted', message, { cause: error });
  }
  return toKnownError(error);
}

/** Never rejects: the result describes a failure. */
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
    throttled: meter.throttled,
    durationMs: context.clock.monotonicMs() - startedMs,
  });
  const { accountId } = context.settings;
  /** `db` null: without a row. */
  const skipTaken = async (db: Database | null, reason: string) => {
    const run = newRun(context, request, { backendPid: null, watermarkMs: null });
    const runId = db === null ? null : await recordSkippedRun(db, run, reason);
    const record = { ...NO_RECORD, runId };
    return { ...figures(noCounts(), { record }), outcome: 'skipped', isTaken: true, reason } as const;
  };
  let session: StreamSession | undefined;
  try {
    session = await openStreamSession({
      databaseUrl: context.databaseUrl,
      accountId,
      stream: request.stream,
      whenBusy: request.whenBusy ?? (request.trigger === 'schedule' ? 'skip' : 'wait'),
      signal: context.signal,
      onStatement: context.events.onStatement,
      onWait: () => void announceWait(context, request.stream),
    });
    if (session === undefined) {
      const { name, isForeign } = await describeHolder(context.db, { accountId, stream: request.stream });
      if (isForeign)
        return { ...(await skipTaken(context.db, `its lock is held by ${name}`)), isTaken: false };
      // If two workers share a schedule, one of them skips each run because the other has the lock: `runs` would contain
      // little else.
      const db = isScheduled(request) ? null : context.db;
      return await skipTaken(db, 'another run of this stream is under way');
    }
    context.events.onSession?.(request.stream);
    // Another process may have migrated the database since this one began.
    await assertMigrated(session.connection);
    if (request.unlessBegunWithinMs !== undefined) {
      const { kind, stream } = request;
      const withinMs = request.unlessBegunWithinMs();
      if (await hasRecentRun(session.connection.db, { accountId, stream, kind, withinMs })) {
        return await skipTaken(session.connection.db, `another worker has done this ${kind}`);
      }
    }
    const end = await runInSession({ context, request, session, meter });
    return { ...figures(end.counts, end), ...end };
  } catch (error) {
    return { ...figures(noCounts()), outcome: 'failed', error: toError(error, context.signal) };
  } finally {
    await session?.close().catch(() => undefined);
    if (session !== undefined) context.events.onSessionEnd?.(request.stream);
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
    watermark: watermarkText(watermarkMs),
  };
}

/** Runs everything that needs the lock. */
async function runInSession(run: SessionRun): Promise<StepsEnd> {
  const { context, request, session, meter } = run;
  const { accountId } = context.settings;
  const { db } = session.connection;
  const dead = await closeDeadRuns(db, { accountId, stream: request.stream }, context.owner);
  if (dead > 0) context.events.onDeadRuns?.(request.stream, dead);
  const state = await readStreamState(db, accountId, request.stream);
  if (state === NO_STATE) await recordStream(db, accountId, request.stream);
  const watermark = watermarkText(state.watermark?.ms ?? null);
  const runId = await startRun(
    db,
    newRun(context, request, { backendPid: session.backendPid, watermarkMs: state.watermark?.ms ?? null }),
  );
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
      guard: { maxRatio: context.settings.maxDeleteRatio, allowMassDelete: request.allowMassDelete },
      fullCompare: request.kind === 'reconcile' || request.onlyRecord !== undefined,
      tracksSeen: !isOfSingleRecords(request) && tracksSeen(stream, request.kind),
      openIssues: await readOpenIssues(db, { accountId, stream: stream.name }),
      // A run without records must not clear this memory.
      keyless: request.retirePart === undefined ? state.keyless : null,
      lifted,
    });
    const end = await runSteps({ ...run, load, stream, state, key, record, lifted });
    await tidy(run, stream);
    return end;
  } catch (caught) {
    // Unfinished statements still use the session, and an open transaction would roll back the closing of the run.
    if (load === undefined) await session.rollback();
    await load?.abort();
    const error = await session.explain(toError(caught, context.signal));
    await closeFailedRun({ session: db, pool: context.db }, { run: key, error, meter });
    return { outcome: 'failed', error, counts: load?.committed ?? noCounts(), repaired: null, record };
  }
}

/** The run is already closed, so a failure here is logged, and the stream's next run tries again. */
async function tidy({ context, request, session }: SessionRun, stream: StreamDefinition): Promise<void> {
  const { retention, settings, signal, clock, events } = context;
  if (isOfSingleRecords(request)) return;
  if (retention === undefined) return;
  try {
    const removed = await removeExpired({
      session,
      shape: streamShape(stream),
      accountId: settings.accountId,
      retention,
      signal,
      monotonicMs: () => clock.monotonicMs(),
    });
    if (Object.values(removed).some((count) => count > 0)) events.onRemoved?.(stream.name, removed);
  } catch (error) {
    await session.rollback();
    events.onRemoved?.(stream.name, NOTHING_REMOVED, toError(error, signal));
  }
}

interface FailedRun {
  readonly run: RunKey;
  readonly error: SafetySyncError;
  readonly meter: RequestMeter;
}

/** Uses the session if it is alive, otherwise the pool. If the run cannot be closed now, the stream's next run closes it. */
async function closeFailedRun(
  { session, pool }: { readonly session: Queryable; readonly pool: Queryable },
  { run, error, meter }: FailedRun,
): Promise<void> {
  const close = (db: Queryable) => failRun(db, run, error, meter);
  await close(session)
    .catch(() => retrying(() => close(pool), { ...CLOSING, signal: AbortSignal.timeout(CLOSING_TIMEOUT_MS) }))
    .catch(() => undefined);
}
