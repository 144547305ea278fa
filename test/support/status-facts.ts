import type { StatusFacts } from '../../src/status/build-status.ts';
import { MINUTE_MS } from '../../src/shared/time.ts';
import { STREAM_NAMES } from '../../src/streams/index.ts';
import type { StreamName } from '../../src/streams/stream.ts';
import type { Operations } from '../../src/status/read-operations.ts';
import type { RunRow } from '../../src/database/runs.ts';
import { NOON } from './test-clock.ts';

export const iso = (ms: number): string => new Date(ms).toISOString();

/** A run that succeeded a minute before noon and took two seconds. */
export function runRow(run: Partial<RunRow> = {}): RunRow {
  return {
    run_id: 1,
    account_id: 'north',
    stream: 'resources',
    kind: 'sync',
    trigger: 'schedule',
    status: 'succeeded',
    started_at: iso(NOON - MINUTE_MS),
    finished_at: iso(NOON - MINUTE_MS + 2_000),
    requests: 1,
    retries: 0,
    records_read: 10,
    inserted: 0,
    updated: 0,
    unchanged: 10,
    deleted: 0,
    rejected: 0,
    repaired: null,
    watermark_before: null,
    watermark_after: null,
    error_code: null,
    error_message: null,
    request_id: null,
    note: null,
    owner: 'host pid 1',
    backend_pid: 1,
    ...run,
  };
}

/** All streams succeeded a minute ago, unless said otherwise. */
export function operations(
  change: Partial<Operations> & { readonly successMs?: Partial<Record<StreamName, number | null>> } = {},
): Operations {
  const { successMs = {}, ...rest } = change;
  return {
    databaseNowMs: NOON,
    readAtMs: NOON,
    pendingMigrations: 0,
    states: STREAM_NAMES.map((stream) => {
      const ms = successMs[stream] === undefined ? NOON - MINUTE_MS : successMs[stream];
      return {
        stream,
        lastSuccessAt: ms === null ? null : iso(ms),
        watermark: stream === 'followups' ? iso(NOON - 5 * MINUTE_MS) : null,
        calculatedAt: null,
        currentUntil: null,
      };
    }),
    runs: STREAM_NAMES.map((stream, index) => runRow({ run_id: index + 1, stream })),
    issues: [],
    slices: [],
    ...rest,
  };
}

/** A worker at noon with whom all is well. */
export function statusFacts(change: Partial<StatusFacts> = {}): StatusFacts {
  return {
    version: '1.2.3',
    accountId: 'north',
    timezone: 'UTC',
    freshnessBudgetMinutes: 60,
    offReasons: {},
    entry: undefined,
    owner: 'host pid 1',
    nowMs: NOON,
    startedMs: NOON - 90 * MINUTE_MS,
    worker: 'running',
    isSchedulerAlive: true,
    operations: operations(),
    volumes: null,
    countedAtMs: NOON,
    databaseProblem: null,
    isDatabaseSlow: false,
    outages: [],
    openCircuits: [],
    service: { inFlight: 0, waiting: 0, concurrencyNow: 4, coolingUntilMs: null },
    queue: { slots: 20, running: 0, unhealthy: 0, waiting: 0, longestWaitMs: 0 },
    nextRuns: STREAM_NAMES.map((stream) => ({ stream, kind: 'sync', atMs: NOON + 14 * MINUTE_MS })),
    progress: new Map(),
    ...change,
  };
}
