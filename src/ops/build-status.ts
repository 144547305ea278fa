/** Rows and live facts → one Status value. Pure. */
import { ERROR_KINDS, type ErrorCode } from '../shared/errors.ts';
import { STREAM_NAMES } from '../streams/index.ts';
import type { StreamName } from '../streams/stream.ts';
import type { HistoryProgress } from '../sync/extract.ts';
import type { IssueGroup, Operations } from '../warehouse/read-operations.ts';
import type { Volumes } from '../warehouse/read-volumes.ts';
import type { RunRow } from '../warehouse/runs.ts';
import { freshnessOf } from './freshness.ts';
import type { Outage } from './outage-log.ts';
import type { Refusal } from './refusal-gate.ts';
import type {
  IssueReport,
  NextRunReport,
  PressureReport,
  ProgressReport,
  QueueReport,
  RunningReport,
  RunReport,
  Status,
  StreamReport,
  WorkerState,
} from './status.ts';
import { buildVerdict, type Circumstances, reasonsNotReady } from './verdict.ts';

export interface StatusFacts {
  readonly version: string;
  readonly accountId: string;
  readonly timezone: string;
  readonly freshnessBudgetMinutes: number;
  readonly scheduled: readonly StreamName[];
  readonly owner: string;
  /** By our clock. */
  readonly nowMs: number;
  readonly startedMs: number;
  readonly worker: WorkerState;
  readonly isSchedulerAlive: boolean;
  /** What was read last; null: nothing yet. */
  readonly operations: Operations | null;
  readonly volumes: Volumes | null;
  /** By our clock; null: never. */
  readonly readAtMs: number | null;
  /** Why the database cannot be read now; null: it can, or was not asked yet. */
  readonly databaseProblem: string | null;
  readonly outages: readonly Outage[];
  readonly refusals: readonly Refusal[];
  readonly service: PressureReport;
  readonly queue: QueueReport;
  readonly nextRuns: readonly NextRunReport[];
  /** Of the runs of this process. */
  readonly progress: ReadonlyMap<StreamName, HistoryProgress>;
}

/** Runs shown in the list of the last ones. */
const LISTED_RUNS = 25;

const toMs = (instant: string | null): number | null => (instant === null ? null : Date.parse(instant));

function adviceOf(code: string): string {
  return code in ERROR_KINDS ? ERROR_KINDS[code as ErrorCode].advice : '';
}

function toRunReport(row: RunRow, nowMs: number): RunReport {
  const startedMs = Date.parse(row.started_at);
  return {
    runId: row.run_id,
    stream: row.stream,
    kind: row.kind,
    trigger: row.trigger,
    status: row.status,
    startedMs,
    durationMs: Math.max(0, (toMs(row.finished_at) ?? nowMs) - startedMs),
    requests: row.requests,
    retries: row.retries,
    read: row.records_read,
    inserted: row.inserted,
    updated: row.updated,
    deleted: row.deleted,
    rejected: row.rejected,
    repaired: row.repaired,
    note: row.note,
    error:
      row.error_code === null
        ? null
        : { code: row.error_code, message: row.error_message ?? '', advice: adviceOf(row.error_code) },
    requestId: row.request_id,
    owner: row.owner,
  };
}

function progressOf(run: RunReport, facts: StatusFacts): ProgressReport {
  const live = run.owner === facts.owner ? facts.progress.get(run.stream) : undefined;
  if (live !== undefined) return { records: live.records, total: live.total };
  const slices = facts.operations?.slices.find(({ stream }) => stream === run.stream);
  // The ledger of a backfill that is done says nothing about a sync.
  const isUnderWay = slices !== undefined && slices.slicesDone < slices.slices;
  return isUnderWay
    ? { records: slices.records, total: slices.expected }
    : { records: run.read, total: null };
}

function toStreamReport(stream: StreamName, facts: StatusFacts, nowMs: number): StreamReport {
  const { operations, volumes } = facts;
  const state = operations?.states.find((one) => one.stream === stream);
  const runs = (operations?.runs ?? [])
    .filter((row) => row.stream === stream)
    .map((row) => toRunReport(row, nowMs));
  const runningRow = runs.find(({ status }) => status === 'running');
  const volume = volumes?.rows.find((one) => one.stream === stream);
  const next = facts.nextRuns.find((one) => one.stream === stream && one.kind === 'sync');
  const issues = (operations?.issues ?? []).filter((one) => one.stream === stream);
  return {
    stream,
    isScheduled: facts.scheduled.includes(stream),
    freshness: freshnessOf(state?.lastSuccessAt ?? null, nowMs, facts.freshnessBudgetMinutes),
    lastSuccessMs: toMs(state?.lastSuccessAt ?? null),
    currentToMs: toMs(state?.watermark ?? state?.calculatedAt ?? null),
    watermarkMs: toMs(state?.watermark ?? null),
    rows: volume?.rows ?? null,
    isEstimate: volume?.isEstimate ?? false,
    openIssues: issues.reduce((sum, { count }) => sum + count, 0),
    nextRunMs: next === undefined ? null : next.atMs + (nowMs - facts.nowMs),
    running: runningRow === undefined ? null : { ...runningRow, progress: progressOf(runningRow, facts) },
    lastRun: runs.find(({ status }) => status !== 'running') ?? null,
    recentRuns: runs.toReversed(),
    repaired: runs.reduce((sum, { repaired }) => sum + (repaired ?? 0), 0),
  };
}

function toIssueReport({ firstSeenAt, ...issue }: IssueGroup): IssueReport {
  return { ...issue, firstSeenMs: Date.parse(firstSeenAt) };
}

export function buildStatus(facts: StatusFacts): Status {
  const { operations, readAtMs } = facts;
  // Times in the warehouse are the database's: ages are told by its clock, however far off ours is.
  const offMs = operations === null || readAtMs === null ? 0 : operations.databaseNowMs - readAtMs;
  const nowMs = facts.nowMs + offMs;
  const outages = facts.outages.map((one) => ({ ...one, sinceMs: one.sinceMs + offMs }));
  const refusals = facts.refusals.map((one) => ({
    ...one,
    sinceMs: one.sinceMs + offMs,
    nextTryMs: one.nextTryMs + offMs,
  }));
  const streams = STREAM_NAMES.map((stream) => toStreamReport(stream, facts, nowMs));
  const circumstances: Circumstances = {
    nowMs,
    freshnessBudgetMinutes: facts.freshnessBudgetMinutes,
    worker: facts.worker,
    isSchedulerAlive: facts.isSchedulerAlive,
    database: {
      isUp: facts.databaseProblem === null && operations !== null,
      readAtMs: readAtMs === null ? null : readAtMs + offMs,
      problem: facts.databaseProblem,
      pendingMigrations: operations?.pendingMigrations ?? null,
    },
    outages,
    refusals,
    streams,
  };
  const notReady = reasonsNotReady(circumstances);
  const running = streams.flatMap(({ running: one }): RunningReport[] => (one === null ? [] : [one]));
  return {
    version: facts.version,
    accountId: facts.accountId,
    timezone: facts.timezone,
    freshnessBudgetMinutes: facts.freshnessBudgetMinutes,
    nowMs,
    startedMs: facts.startedMs + offMs,
    worker: facts.worker,
    owner: facts.owner,
    isSchedulerAlive: facts.isSchedulerAlive,
    isReady: notReady.length === 0,
    notReady,
    verdict: buildVerdict(circumstances),
    database: circumstances.database,
    outages,
    refusals,
    service: facts.service,
    queue: facts.queue,
    streams,
    running,
    recentRuns: (operations?.runs ?? []).slice(0, LISTED_RUNS).map((row) => toRunReport(row, nowMs)),
    days: facts.volumes?.days ?? [],
    issues: (operations?.issues ?? []).map(toIssueReport),
    nextRuns: facts.nextRuns.map((one) => ({ ...one, atMs: one.atMs + offMs })),
  };
}

/** For alarms and gauges. */
export function freshnessSeconds(
  { lastSuccessMs }: Pick<StreamReport, 'lastSuccessMs'>,
  nowMs: number,
): number | undefined {
  return lastSuccessMs === null ? undefined : Math.max(0, (nowMs - lastSuccessMs) / 1000);
}
