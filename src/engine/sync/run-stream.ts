/** One run of one stream, from lock to closed run record. */
import type { Queryable } from '../database/connection.ts';
import { toKnownError } from '../database/database-error.ts';
import { recordRun, type RunEnding, updateRun } from '../control-tables/runs.ts';
import { assertMigrated } from '../database/migration-status.ts';
import { NOTHING_REMOVED, removeExpired } from '../history/retention.ts';
import { openStreamState } from '../control-tables/stream-state.ts';
import { withStreamSession } from '../control-tables/stream-session.ts';
import { createLoad, type Load } from '../loading/load.ts';
import { streamShape } from '../database/table-shape.ts';
import { toIso } from '../../shared/time.ts';
import { markFailed, withSpan } from '../../shared/with-span.ts';
import { streamNamed } from '../streams/index.ts';
import {
  createRunMeter,
  readsWholeStream,
  type Run,
  type RunContext,
  type RunRequest,
  type RunResult,
} from './run.ts';
import { applyPrivacy } from '../privacy/settings.ts';
import { runSteps } from './run-steps.ts';

/** Never rejects: the result describes a failure. */
export async function runStream(context: RunContext, request: RunRequest): Promise<RunResult> {
  const { stream, kind, trigger } = request;
  const about = { 'safety_sync.account': context.settings.accountId, 'safety_sync.stream': stream };
  const attributes = { ...about, 'safety_sync.kind': kind, 'safety_sync.trigger': trigger };
  return await withSpan(`run ${stream}`, attributes, async (span) => {
    const startedMs = context.clock.monotonicMs();
    const meter = createRunMeter();
    const whenBusy = trigger === 'schedule' ? 'skip' : 'wait';
    const run = withStreamSession(context, { stream, whenBusy }, (session) =>
      runInSession(context, request, { session, meter }),
    );
    const failed = (error: unknown) =>
      ({ outcome: 'failed', error: toKnownError(error, context.signal) }) as const;
    const reason = 'another run of this stream is under way';
    const ending = (await run.catch(failed)) ?? ({ outcome: 'skipped', isTaken: true, reason } as const);
    const durationMs = context.clock.monotonicMs() - startedMs;
    span.setAttributes({
      'safety_sync.run_id': meter.runId ?? undefined,
      'safety_sync.outcome': ending.outcome,
      'safety_sync.requests': meter.requests,
      'safety_sync.retries': meter.retries,
    });
    if (ending.outcome === 'failed') markFailed(span, ending.error.code);
    return { ...meter, ...ending, stream, durationMs };
  });
}

/** The part of a run that needs the lock. */
async function runInSession(
  context: RunContext,
  asked: RunRequest,
  { session, meter }: Pick<Run, 'session' | 'meter'>,
): Promise<RunEnding> {
  const { settings, signal, events, owner } = context;
  const { accountId } = settings;
  const { backendPid, connection } = session;
  const { db } = connection;
  const { kind, trigger } = asked;
  // Another process may have migrated the database since this one began.
  await assertMigrated(connection);
  const state = await openStreamState(db, { accountId, stream: asked.stream });
  const stream = streamNamed(asked.stream);
  // At a new address of the service the first run reads everything, and deletes what that address lacks, without the guard.
  // Optional lists are due there by themselves, and their readers know what was never read there: a list that fails makes no
  // other one due again.
  const isAnew = state.isMoved && readsWholeStream(asked) && !('lists' in stream.readMode);
  const request: RunRequest = isAnew ? { ...asked, kind: 'reconcile', allowMassDelete: true } : asked;
  const begun = { account_id: accountId, stream: asked.stream, kind, trigger, owner };
  const watermark_before = toIso(state.watermark);
  const runId = await recordRun(db, { ...begun, backend_pid: backendPid, watermark_before });
  meter.runId = runId;
  let load: Load | undefined;
  try {
    const { protection, cleaned } = await applyPrivacy(session, { ...context, stream });
    if (cleaned !== undefined) events.onCleaned?.(stream.name, cleaned);
    // The reader of people has a rule of its own, and at a new address everything may be gone.
    const isUnguarded = request.allowMassDelete || state.isMoved || stream.readMode.kind === 'people';
    load = await createLoad({
      ...{ session, protection, accountId, runId, shape: streamShape(stream) },
      maxDeleteRatio: isUnguarded ? Infinity : settings.maxDeleteRatio,
      fullCompare: request.kind === 'reconcile' || request.onlyRecord !== undefined,
      // A backfill of follow-ups deletes nothing, but after a move it is a reconcile.
      tracksSeen: request.kind !== 'backfill' || stream.readMode.kind !== 'incremental',
    });
    meter.counts = load.committed;
    const run = {
      ...{ ...context, accountId, runId, request, stream, meter, session, state, load },
      // A request may wait for long, and nothing that it brings could be stored.
      signal: AbortSignal.any([signal, connection.lost]),
    };
    const ending = await runSteps(run);
    await removeOld(run);
    return ending;
  } catch (caught) {
    // Unfinished statements still use the session, and an open transaction would roll back the closing of the run.
    await (load === undefined ? session.rollback() : load.abort());
    const error = session.explain(toKnownError(caught, signal));
    const ending = { outcome: 'failed', error } as const;
    meter.repaired = null;
    const close = (to: Queryable) => updateRun(to, { accountId, runId }, { counts: null, meter, ending });
    // Over the pool if the session is gone. If the database is, too, the stream's next run closes the row.
    await close(db)
      .catch(() => close(context.db))
      .catch(() => undefined);
    return ending;
  }
}

/** The run is already closed, so a failure here is logged, and the stream's next run tries again. */
async function removeOld({ retention, stream, request, session, accountId, signal, events }: Run) {
  if (!readsWholeStream(request)) return;
  try {
    const shape = streamShape(stream);
    const removed = await removeExpired({ session, shape, accountId, retention, signal });
    if (Object.values(removed).some((count) => count > 0)) events.onRemoved?.(stream.name, removed);
  } catch (error) {
    await session.rollback();
    events.onRemoved?.(stream.name, NOTHING_REMOVED, toKnownError(error, signal));
  }
}
