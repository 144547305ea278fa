/** Rows and live facts → one Status value. Pure. */
import type { OffReasons } from '../config/account-config.ts';
import { adviceOf } from '../shared/errors.ts';
import { STREAM_NAMES } from '../streams/index.ts';
import type { StreamName } from '../streams/stream.ts';
import type { HistoryProgress } from '../reading/extract.ts';
import type { IssueGroup, Operations } from './read-operations.ts';
import type { Volumes } from './read-volumes.ts';
import type { RunRow } from '../database/runs.ts';
import { type DatabaseClock, reportDatabase } from './database-report.ts';
import { freshnessOf, lastSuccessOf } from './freshness.ts';
import type { Outage } from '../health/outage-log.ts';
import type { OpenCircuit } from '../health/circuit-breaker.ts';
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
  /** Streams that are not synced by themselves. */
  readonly offReasons: OffReasons;
  /** The account's name in the accounts file, if it has one there. */
  readonly entry: string | undefined;
  readonly owner: string;
  /** By our clock. */
  readonly nowMs: number;
  readonly startedMs: number;
  readonly worker: WorkerState;
  readonly isSchedulerAlive: boolean;
  /** What was read last; null: nothing yet. */
  readonly operations: Operations | null;
  readonly volumes: Volumes | null;
  /** When the volumes were counted, by our clock; null: never. */
  readonly countedAtMs: number | null;
  /** Why the database cannot be read now; null: it can, or was not asked yet. */
  readonly databaseProblem: string | null;
  /** It answers, but not as soon as it is looked at. */
  readonly isDatabaseSlow: boolean;
  readonly outages: readonly Outage[];
  readonly openCircuits: readonly OpenCircuit[];
  readonly service: PressureReport;
  readonly queue: QueueReport;
  readonly nextRuns: readonly NextRunReport[];
  /** Of the runs of this process. */
  readonly progress: ReadonlyMap<StreamName, HistoryProgress>;
}

/** Runs shown in the list of the last ones. */
const LISTED_RUNS = 25;

const toMs = (instant: string | null): number | null => (instant === null ? null : Date.parse(instant));

interface ReportedAt {
  readonly nowMs: number;
  readonly entry: string | undefined;
}

function toRunReport(row: RunRow, { nowMs, entry }: ReportedAt): RunReport {
  const startedMs = Date.parse(row.started_at);
  return {
    runId: row.run_id,
    stream: row.stream,
    kind: row.kind,
    trigger: row.trigger,
    status: row.status,
    startedMs,
    durationMs: Math.max(
      0,
      (toMs(row.finished_at) ?? (row.status === 'running' ? nowMs : startedMs)) - startedMs,
    ),
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
        : {
            code: row.error_code,
            message: row.error_message ?? '',
            advice: adviceOf(row.error_code, entry),
          },
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

function toStreamReport(
  stream: StreamName,
  facts: StatusFacts,
  { offMs, judgedMs }: DatabaseClock,
): StreamReport {
  const { operations, volumes } = facts;
  const states = operations?.states ?? [];
  const state = states.find((one) => one.stream === stream);
  const successes = new Map(states.map((one) => [one.stream, toMs(one.lastSuccessAt)]));
  const runs = (operations?.runs ?? [])
    .filter((row) => row.stream === stream)
    .map((row) => toRunReport(row, { nowMs: judgedMs, entry: facts.entry }));
  const runningRow = runs.find(({ status }) => status === 'running');
  const volume = volumes?.rows.find((one) => one.stream === stream);
  const next = facts.nextRuns.find((one) => one.stream === stream && one.kind === 'sync');
  const issues = (operations?.issues ?? []).filter((one) => one.stream === stream);
  const known = {
    lastSuccessMs: lastSuccessOf(stream, successes),
    currentUntilMs: toMs(state?.currentUntil ?? null),
  };
  return {
    stream,
    isScheduled: facts.offReasons[stream] === undefined,
    offReason: facts.offReasons[stream] ?? null,
    freshness: freshnessOf(known, judgedMs, facts.freshnessBudgetMinutes),
    ...known,
    currentToMs: toMs(state?.watermark ?? state?.calculatedAt ?? null),
    watermarkMs: toMs(state?.watermark ?? null),
    rows: volume?.rows ?? null,
    rowsCountedMs: facts.countedAtMs === null ? null : facts.countedAtMs + offMs,
    isEstimate: volume?.isEstimate ?? false,
    openIssues: issues.reduce((sum, { count }) => sum + count, 0),
    nextRunMs: next === undefined ? null : next.atMs + offMs,
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
  const { operations } = facts;
  const database = reportDatabase({
    seen: operations,
    problem: facts.databaseProblem,
    isSlow: facts.isDatabaseSlow,
    ourNowMs: facts.nowMs,
  });
  const { offMs, nowMs } = database;
  const outages = facts.outages.map((one) => ({ ...one, sinceMs: one.sinceMs + offMs }));
  const openCircuits = facts.openCircuits.map((one) => ({
    ...one,
    sinceMs: one.sinceMs + offMs,
    nextTryMs: one.nextTryMs + offMs,
  }));
  const streams = STREAM_NAMES.map((stream) => toStreamReport(stream, facts, database));
  const circumstances: Circumstances = {
    nowMs,
    freshnessBudgetMinutes: facts.freshnessBudgetMinutes,
    worker: facts.worker,
    isSchedulerAlive: facts.isSchedulerAlive,
    database: database.report,
    outages,
    openCircuits,
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
    openCircuits,
    service: facts.service,
    queue: facts.queue,
    streams,
    running,
    recentRuns: (operations?.runs ?? [])
      .slice(0, LISTED_RUNS)
      .map((row) => toRunReport(row, { nowMs: database.judgedMs, entry: facts.entry })),
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
